//! The vectors of `tests/vectors/routing.json`, one test each, named by its id. What is expected is
//! read from the file, never typed again.

mod file;
mod front_door;
mod health;
mod timeline;
