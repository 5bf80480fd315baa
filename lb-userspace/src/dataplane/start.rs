use std::{fs, io};

use aya::{Ebpf, EbpfError};
use aya_obj::ParseError;
use lb_common::HashKey;

use super::{
    Kernel, KernelError,
    attach::{self, AttachError},
    detach,
    interface::{self, Mode},
    lock::{Lock, LockError},
    object,
    pins::{Pins, PinsError},
};
use crate::model::{Edge, XdpMode};

/// A running edge.
pub struct Started {
    /// Its maps.
    pub kernel: Kernel,
    /// How the program is attached.
    pub mode: Mode,
    /// Whether the program of an earlier daemon was running and was replaced without a gap.
    pub adopted: bool,
    /// What the operator should know.
    pub warning: Option<String>,
    /// The loaded object, for reading the packet program's log. Dropping it changes nothing for
    /// packets.
    pub object: Ebpf,
    /// To be kept as long as the daemon runs.
    pub lock: Lock,
}

/// Why an edge does not start. Each message is one line that says how to mend it.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The program is not attached.
    #[error(transparent)]
    Attach(#[from] AttachError),
    /// The process may not load programs.
    #[error(
        "loading an XDP program takes {0}: run as root, or give the process these capabilities"
    )]
    Capabilities(String),
    /// The process's own capabilities can not be read.
    #[error("/proc/self/status: {0}")]
    Status(#[source] io::Error),
    /// The maps can not be used.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The object does not load.
    #[error("the packet program does not load: {0}")]
    Load(#[from] EbpfError),
    /// The lock was not taken.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// No such interface.
    #[error("there is no interface `{0}`: `ip link` lists them; set `edge.interfaces`")]
    NoInterface(String),
    /// The object in this binary is broken.
    #[error("the packet program can not be read: {0}")]
    Object(#[from] ParseError),
    /// The pins can not be used.
    #[error(transparent)]
    Pins(#[from] PinsError),
}

impl Kernel {
    /// Starts an edge: takes its lock, loads the packet program onto the pinned maps, which are made if
    /// they are not there, and attaches it. A program of an earlier daemon is replaced in one step.
    ///
    /// `ring_key` is written if it differs from what is in use; the flow table's secret stays.
    ///
    /// # Errors
    ///
    /// [`StartError`]; then whatever ran before goes on running, and nothing new is left behind.
    pub fn start(edge: &Edge, ring_key: HashKey) -> Result<Started, StartError> {
        check_capabilities()?;
        let lock = Lock::take(edge)?;
        let interface = edge.interface.as_str();
        let index = interface::index(interface)
            .ok_or_else(|| StartError::NoInterface(interface.to_owned()))?;
        let pins = Pins::new(&edge.pin_dir);
        let fresh = !pins.maps().exists();
        pins.prepare()?;
        let edge = Starting {
            edge,
            ring_key,
            index,
            pins,
        };
        let started = edge.start(lock);
        if started.is_err() && fresh {
            // What was made in vain; the error above says more than one from here could.
            let _ = detach(&edge.edge.pin_dir);
        }
        started
    }
}

struct Starting<'a> {
    edge: &'a Edge,
    ring_key: HashKey,
    index: u32,
    pins: Pins,
}

impl Starting<'_> {
    fn start(&self, lock: Lock) -> Result<Started, StartError> {
        let shapes = object::shapes(self.edge)?;
        self.pins.check_maps(&shapes)?;
        let running = attach::running(&self.pins, &self.edge.interface, self.index)?;
        let adopted = running.is_some();
        let (object, mode, warning) = match running {
            Some(running) => {
                let mode = running.mode;
                self.check_mode(mode)?;
                let mut object = self.load()?;
                attach::replace(&mut object, running, &self.pins)?;
                (object, mode, None)
            }
            None => self.attach()?,
        };
        Ok(Started {
            kernel: Kernel::open(self.pins.dir())?,
            mode,
            adopted,
            warning,
            object,
            lock,
        })
    }

    fn attach(&self) -> Result<(Ebpf, Mode, Option<String>), StartError> {
        match self.edge.xdp_mode {
            XdpMode::Generic => Ok((self.attach_as(Mode::Generic)?, Mode::Generic, None)),
            XdpMode::Native => Ok((self.attach_as(Mode::Native)?, Mode::Native, None)),
            XdpMode::Auto => match self.attach_as(Mode::Native) {
                Ok(object) => Ok((object, Mode::Native, None)),
                Err(StartError::Attach(error @ AttachError::Refused { .. })) => {
                    let object = self.attach_as(Mode::Generic)?;
                    let warning = format!("attached in generic mode, which is slow: {error}");
                    Ok((object, Mode::Generic, Some(warning)))
                }
                Err(error) => Err(error),
            },
        }
    }

    /// Each attempt takes a fresh object: after a refusal a kernel may refuse the same one again.
    fn attach_as(&self, mode: Mode) -> Result<Ebpf, StartError> {
        let mut object = self.load()?;
        let interface = &self.edge.interface;
        attach::attach(&mut object, interface, self.index, mode, &self.pins)?;
        Ok(object)
    }

    fn load(&self) -> Result<Ebpf, StartError> {
        let shapes = object::shapes(self.edge)?;
        let object = object::load(self.edge, &self.pins.maps(), shapes.keys())?;
        Kernel::open(self.pins.dir())?.seed(self.ring_key)?;
        Ok(object)
    }

    fn check_mode(&self, mode: Mode) -> Result<(), AttachError> {
        match (self.edge.xdp_mode, mode) {
            (XdpMode::Native, Mode::Generic) | (XdpMode::Generic, Mode::Native) => {
                let interface = self.edge.interface.clone();
                Err(AttachError::OtherMode { interface, mode })
            }
            _ => Ok(()),
        }
    }
}

/// Bits of `CapEff` (linux/capability.h).
const NEEDED: [(&str, u32); 3] = [("CAP_BPF", 39), ("CAP_NET_ADMIN", 12), ("CAP_PERFMON", 38)];
const CAP_SYS_ADMIN: u32 = 21;

fn check_capabilities() -> Result<(), StartError> {
    let status = fs::read_to_string("/proc/self/status").map_err(StartError::Status)?;
    match missing(&status) {
        missing if missing.is_empty() => Ok(()),
        missing => Err(StartError::Capabilities(missing.join(", "))),
    }
}

/// The capabilities that a process with this `/proc/PID/status` lacks.
fn missing(status: &str) -> Vec<&'static str> {
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
        .unwrap_or(0);
    let has = |bit: u32| effective >> bit & 1 != 0;
    // CAP_SYS_ADMIN holds all that was split off from it.
    let lacks = |name: &str, bit| !has(bit) && (name == "CAP_NET_ADMIN" || !has(CAP_SYS_ADMIN));
    let lacking = NEEDED.into_iter().filter(|(name, bit)| lacks(name, *bit));
    lacking.map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_may_do_stands_in_its_status() {
        let all = ["CAP_BPF", "CAP_NET_ADMIN", "CAP_PERFMON"];
        let with = |effective: &str| missing(&format!("Name:\tx\nCapEff:\t{effective}\n"));
        assert_eq!(with("000001ffffffffff"), [""; 0]);
        assert_eq!(with("0000000000000000"), all);
        assert_eq!(with("000000c000001000"), [""; 0]);
        assert_eq!(with("0000000000201000"), [""; 0], "CAP_SYS_ADMIN");
        assert_eq!(with("000000c000000000"), ["CAP_NET_ADMIN"]);
        assert_eq!(with("no number"), all);
        assert_eq!(missing(""), all);
    }
}
