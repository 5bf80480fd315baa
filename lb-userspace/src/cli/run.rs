use std::{io::IsTerminal as _, path::PathBuf};

use clap::Args;
use tracing_subscriber::EnvFilter;

use super::examples;
use crate::{
    daemon,
    refusal::{Refused, host::no_resources},
};

/// Run the daemon: attach the program, probe the backends, keep the tables right.
///
/// Needs root, or CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON. SIGHUP reloads the configuration.
/// SIGTERM and SIGINT end the daemon; the program and its tables stay and go on forwarding, and the
/// next start adopts them. `waggle detach` removes them. The log goes to standard error; the
/// variable WAGGLE_LOG sets its level (error, warn, info, debug).
#[derive(Args, Debug)]
#[command(after_long_help = examples(&["waggle run --config /etc/waggle/waggle.toml", "WAGGLE_LOG=debug waggle run --config waggle.toml"]))]
pub(super) struct Arguments {
    /// The configuration.
    #[arg(long, value_name = "FILE", default_value = "/etc/waggle/waggle.toml")]
    config: PathBuf,
}

impl Arguments {
    pub(super) fn run(self) -> Result<String, Refused> {
        let filter = EnvFilter::builder()
            .with_env_var("WAGGLE_LOG")
            .with_default_directive(tracing::Level::INFO.into())
            .from_env_lossy()
            // The packet program logs only when `packet_log` asks for it.
            .add_directive("waggle_xdp=debug".parse().expect("a target and a level"));
        tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(std::io::stderr)
            // It would panic where standard error itself is what can not be written.
            .log_internal_errors(false)
            .with_ansi(std::io::stderr().is_terminal())
            .with_target(false)
            .init();
        // Probes run on a thread of their own, so that the daemon's work is not in their latency.
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .map_err(|error| no_resources("the daemon its threads", error))?
            .block_on(daemon::run(&self.config))?;
        Ok(String::new())
    }
}
