//! The lab's servers as processes of their own: `lab-server http|udp NAME PORT`.

use std::{env, process::ExitCode};

use lb_tests::lab::{UdpServer, WebServer};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [kind, name, port] = &arguments[..] else {
        return usage();
    };
    let Ok(port) = port.parse() else {
        eprintln!("{port} is no port");
        return ExitCode::from(2);
    };
    let served = match &**kind {
        "http" => WebServer::listen(name, port).map(WebServer::serve),
        "udp" => UdpServer::listen(name, port).map(UdpServer::serve),
        _ => return usage(),
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("port {port} is not to be had: {error}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: lab-server http|udp NAME PORT");
    ExitCode::from(2)
}
