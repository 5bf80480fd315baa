//! The files in `config/examples`: what `waggle check` and `waggle explain` say of them, and of a typical
//! mistake in each; and the page that explains them.
//!
//! The text is in `NAME.txt` here, written with `WAGGLE_WRITE_DOCS=1 cargo test -p lb-userspace --test
//! examples`. The shares stand in the tests, as typed from the rules that are named.

mod front_door;
mod mistakes;
mod nested;
mod netscaler;
mod routing;
mod said;
mod traffic_manager;
