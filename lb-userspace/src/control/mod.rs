//! The control socket: what the command line and the daemon say to each other. One line of JSON
//! each way, then the connection ends.

mod client;
mod protocol;
mod server;

pub use self::{
    client::{ask, find},
    protocol::{
        DataFileView, EdgeView, InterfaceView, MAX_REQUEST, Reloaded, Reply, Request, Status,
    },
    server::{Question, serve},
};
