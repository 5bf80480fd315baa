//! What the log says.

use std::time::Duration;

use aya::Ebpf;
use aya_log::EbpfLogger;
use tokio::time::interval;

use crate::{
    dataplane::PacketLines,
    engine::Notice,
    model::Health,
    refusal::{Problem, Refusal, program::no_packet_log, reason},
};

/// Between two looks into the packet program's log.
const PAUSE: Duration = Duration::from_millis(100);

/// Tells an operator.
pub(super) fn tell(notice: &Notice) {
    match notice {
        Notice::BestEffort {
            group,
            active: true,
        } => tracing::warn!(
            %group, "All members are down: traffic goes to every enabled one (all-down rule).",
        ),
        Notice::BestEffort {
            group,
            active: false,
        } => {
            tracing::info!(%group, "The all-down rule is no longer in use.");
        }
        Notice::NoAnswer {
            group,
            active: true,
        } => tracing::error!(%group, "No member may get traffic: new flows get no backend."),
        Notice::NoAnswer {
            group,
            active: false,
        } => tracing::info!(%group, "New flows are forwarded again."),
        Notice::Health {
            group,
            backend,
            health: Health::Up,
            why,
        } => {
            tracing::info!(%group, %backend, why, "Backend is up.");
        }
        Notice::Health {
            group,
            backend,
            health: _,
            why,
        } => {
            tracing::warn!(%group, %backend, why, "Backend is down.");
        }
        Notice::Published { group } => tracing::info!(%group, "First decision; it is served."),
        Notice::Unsent { why } => tracing::error!(why, "A probe could not be sent."),
        Notice::Way {
            backend,
            open: true,
            way,
        } => {
            tracing::info!(%backend, way, "Packets reach a backend.");
        }
        Notice::Way {
            backend,
            open: false,
            way,
        } => {
            tracing::warn!(%backend, way, "Packets do not reach a backend.");
        }
    }
}

/// Tells an operator what is not as it should be.
pub(super) fn warn(warning: &Problem) {
    tracing::warn!(code = %warning.code, "{warning}");
}

/// Tells an operator why data files are not taken as they are now.
pub(super) fn unused_data(problem: &Problem) {
    tracing::error!(code = %problem.code, "What data files said before holds: {problem}");
}

/// Hands the packet program's log to the daemon's, several times a second.
pub(super) fn packets(object: &mut Ebpf) -> Result<(), Refusal> {
    let lines = PacketLines(|line: &str| tracing::debug!(target: "waggle_xdp", "{line}"));
    let logger = EbpfLogger::init_with_logger(object, lines);
    let mut logger = logger.map_err(|e| no_packet_log(reason(&e)))?;
    tokio::spawn(async move {
        let mut pause = interval(PAUSE);
        loop {
            pause.tick().await;
            logger.flush();
        }
    });
    Ok(())
}
