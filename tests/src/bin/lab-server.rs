//! The lab's web server as a process of its own: `lab-server NAME PORT`.

use std::{env, process::ExitCode};

use lb_tests::lab::WebServer;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [name, port] = &arguments[..] else {
        eprintln!("usage: lab-server NAME PORT");
        return ExitCode::from(2);
    };
    let Ok(port) = port.parse() else {
        eprintln!("{port} is no port");
        return ExitCode::from(2);
    };
    match WebServer::listen(name, port) {
        Ok(server) => {
            server.serve();
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("port {port} is not to be had: {error}");
            ExitCode::FAILURE
        }
    }
}
