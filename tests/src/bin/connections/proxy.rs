//! The proxies that the product is compared with, set up as one who wants them fast does: one
//! thread, no logs, no more work per connection than needed.

use std::{
    fs,
    net::{Ipv4Addr, TcpStream},
    path::Path,
    process::{Command, Stdio},
};

use anyhow::ensure;
use lb_tests::lab::{DEADLINE, Host, Process, Scratch, wait_until};

/// Where Debian puts nginx' module `stream`.
const STREAM: &str = "/usr/lib/nginx/modules/ngx_stream_module.so";

/// A proxy that runs. Dropping it kills it.
pub(crate) struct Proxy {
    _process: Process,
    _scratch: Scratch,
}

/// An error with the mend unless both proxies are installed.
pub(crate) fn require() -> anyhow::Result<()> {
    let haproxy = Command::new("haproxy").arg("-v").output();
    ensure!(
        haproxy.is_ok_and(|output| output.status.success()) && Path::new(STREAM).exists(),
        "this bench needs haproxy and nginx' module stream: \
         `apt-get install haproxy libnginx-mod-stream`"
    );
    Ok(())
}

impl Proxy {
    /// haproxy in TCP mode, from `port` of `host` to port 80 of the backends.
    pub(crate) fn haproxy(host: &Host, port: u16, backends: &[Host]) -> Self {
        let scratch = Scratch::new();
        let path = scratch.path("haproxy.cfg");
        let mut command = host.command("haproxy");
        command.arg("-db").arg("-f").arg(&path);
        fs::write(path, haproxy_config(port, backends)).expect("a place for the configuration");
        Self::start(host, port, command, scratch)
    }

    /// nginx' module `stream`, likewise.
    pub(crate) fn nginx(host: &Host, port: u16, backends: &[Host]) -> Self {
        let scratch = Scratch::new();
        let path = scratch.path("nginx.conf");
        let mut command = host.command("nginx");
        command.arg("-p").arg(scratch.path(""));
        command.arg("-e").arg(scratch.path("error.log"));
        command.arg("-c").arg(&path);
        let text = nginx_config(&scratch.path("nginx.pid"), port, backends);
        fs::write(path, text).expect("a place for the configuration");
        Self::start(host, port, command, scratch)
    }

    fn start(host: &Host, port: u16, mut command: Command, scratch: Scratch) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let mut process = Process::spawn(&mut command);
        wait_until(DEADLINE, "a proxy", || {
            assert!(process.runs(), "a proxy ended at once: {command:?}");
            host.enter(|| TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok())
        });
        Self {
            _process: process,
            _scratch: scratch,
        }
    }
}

fn haproxy_config(port: u16, backends: &[Host]) -> String {
    let servers: String = backends
        .iter()
        .map(|host| format!("    server {} {}:80\n", host.name(), host.address()))
        .collect();
    format!(
        "global
    nbthread 1
    maxconn 4096
defaults
    mode tcp
    timeout connect 5s
    timeout client 30s
    timeout server 30s
    option splice-auto
    option tcp-smart-accept
    option tcp-smart-connect
listen web
    bind :{port} backlog 4096
    balance roundrobin
{servers}"
    )
}

fn nginx_config(pid: &Path, port: u16, backends: &[Host]) -> String {
    let servers: String = backends
        .iter()
        .map(|host| format!("server {}:80 max_fails=0; ", host.address()))
        .collect();
    format!(
        "daemon off;
user root;
worker_processes 1;
load_module {STREAM};
pid {};
events {{ worker_connections 8192; multi_accept on; }}
stream {{
    access_log off;
    tcp_nodelay on;
    upstream web {{ {servers}}}
    server {{
        listen {port} reuseport backlog=4096;
        proxy_connect_timeout 5s;
        proxy_pass web;
    }}
}}
",
        pid.display()
    )
}
