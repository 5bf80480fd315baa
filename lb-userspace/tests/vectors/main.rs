//! The vectors of `tests/vectors/routing.json`, one test each, named by its id. What is expected is
//! read from the file, never typed again.

mod case;
mod file;
mod front_door;
mod health;
mod nested;
mod netscaler;
mod timeline;
mod traffic_manager;
