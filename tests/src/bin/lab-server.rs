//! The lab's servers as processes of their own: `lab-server http|udp NAME PORT`.

use std::{env, process::ExitCode};

use lb_tests::lab::{UdpServer, WebServer};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [kind @ ("http" | "udp"), name, port] =
        &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..]
    else {
        eprintln!("usage: lab-server http|udp NAME PORT");
        return ExitCode::from(2);
    };
    let Ok(port) = port.parse() else {
        eprintln!("{port} is no port");
        return ExitCode::from(2);
    };
    let served = match *kind {
        "udp" => UdpServer::listen(name, port).map(UdpServer::serve),
        _ => WebServer::listen(name, port).map(WebServer::serve),
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("port {port} is not to be had: {error}");
            ExitCode::FAILURE
        }
    }
}
