use std::{
    fs,
    net::{Ipv4Addr, TcpStream},
    path::PathBuf,
    process::Stdio,
};

use nix::sys::signal::Signal;

use super::{
    host::Host,
    process::Process,
    scratch::Scratch,
    wait::{DEADLINE, wait_until},
};

/// A real nginx on a host. Every answer carries the host's name, as header `X-Backend` and as
/// body.
#[derive(Debug)]
pub struct Nginx<'lab> {
    host: &'lab Host,
    port: u16,
    process: Option<Process>,
    scratch: Scratch,
}

impl<'lab> Nginx<'lab> {
    /// Starts it on `port` of every address of `host`.
    #[track_caller]
    pub fn start(host: &'lab Host, port: u16) -> Self {
        let mut nginx = Self {
            host,
            port,
            process: None,
            scratch: Scratch::new(),
        };
        fs::write(nginx.config(), nginx.config_text()).expect("a place for the configuration");
        nginx.restart();
        nginx
    }

    /// Stops it at once: open connections are closed, new ones refused.
    pub fn stop(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.signal(Signal::SIGTERM);
            process.wait();
        }
    }

    /// Stops it, if it runs, and starts it again.
    #[track_caller]
    pub fn restart(&mut self) {
        self.stop();
        let mut command = self.host.command("nginx");
        command
            .arg("-p")
            .arg(self.directory())
            .arg("-e")
            .arg(self.log())
            .arg("-c")
            .arg(self.config())
            .stdin(Stdio::null())
            .stderr(Stdio::null());
        let mut process = Process::spawn(&mut command);
        wait_until(DEADLINE, "nginx", || {
            assert!(
                process.runs(),
                "nginx ended: {:?}",
                fs::read_to_string(self.log())
            );
            let at = (Ipv4Addr::LOCALHOST, self.port);
            self.host.enter(|| TcpStream::connect(at).is_ok())
        });
        self.process = Some(process);
    }

    /// Its directory: configuration, logs, process id.
    pub fn directory(&self) -> PathBuf {
        self.scratch.path("")
    }

    fn config(&self) -> PathBuf {
        self.scratch.path("nginx.conf")
    }

    fn log(&self) -> PathBuf {
        self.scratch.path("error.log")
    }

    fn config_text(&self) -> String {
        let directory = self.directory();
        let directory = directory.display();
        let (name, port) = (self.host.name(), self.port);
        format!(
            "daemon off;
            user root;
            worker_processes 1;
            pid {directory}/nginx.pid;
            events {{ worker_connections 4096; }}
            http {{
                access_log off;
                client_body_temp_path {directory}/body;
                proxy_temp_path {directory}/proxy;
                fastcgi_temp_path {directory}/fastcgi;
                uwsgi_temp_path {directory}/uwsgi;
                scgi_temp_path {directory}/scgi;
                keepalive_requests 1000000;
                server {{
                    listen {port} backlog=4096;
                    listen [::]:{port} backlog=4096;
                    add_header X-Backend {name} always;
                    location / {{ return 200 {name}; }}
                }}
            }}
            "
        )
    }
}
