use std::{error::Error, fs, io, path::PathBuf};

use aya::{
    Ebpf,
    programs::{
        ProgramError, Xdp, XdpError, XdpMode,
        links::{FdLink, PinnedLink},
        xdp::XdpLink,
    },
};
use nix::errno::Errno;

use super::{
    interface::{self, Attached, Mode, OpenLink},
    object::PROGRAM,
    pins::Pins,
};

/// Why the program is not attached.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// It is attached in the other mode, which a running program can not change.
    #[error(
        "the running program is attached to {interface} in {mode} mode: `waggle detach` and start \
         again to change it, or set `edge.xdp_mode = \"{mode}\"`"
    )]
    OtherMode {
        /// The interface.
        interface: String,
        /// The mode in use.
        mode: Mode,
    },
    /// The pinned link belongs to another interface than the configured one.
    #[error(
        "the running program is attached to {there}, not to {wanted}: `waggle detach` and start again, \
         or set `edge.interfaces` back"
    )]
    OtherInterface {
        /// Where it is attached.
        there: String,
        /// Where it should be.
        wanted: String,
    },
    /// Someone else's program is there.
    #[error(
        "another XDP program{} is attached to {interface}: remove it (`ip link set dev {interface} xdp off`, \
         or end its owner)", id.map(|id| format!(" (id {id})")).unwrap_or_default()
    )]
    OtherProgram {
        /// The interface.
        interface: String,
        /// The program's id.
        id: Option<u32>,
    },
    /// The driver, or its present settings, do not take it.
    #[error("{interface} takes no {mode} XDP program: {reason}{}", match mode {
        Mode::Native => "; set `edge.xdp_mode = \"generic\"`, or \"auto\"",
        Mode::Generic => "",
    })]
    Refused {
        /// The interface.
        interface: String,
        /// The mode that was tried.
        mode: Mode,
        /// What the kernel said.
        reason: String,
    },
    /// The program does not load, or its pin can not be written.
    #[error("the packet program: {0}")]
    Program(#[source] Box<dyn Error + Send + Sync>),
    /// What is pinned in the link's place can not be judged, so it is left alone.
    #[error(
        "can not tell what {path} holds ({reason}): if it is the link of a waggle, `waggle detach` and \
         start again; if not, set another `edge.pin_dir`"
    )]
    UnknownLink {
        /// The pin.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
}

fn program_error(error: impl Into<Box<dyn Error + Send + Sync>>) -> AttachError {
    AttachError::Program(error.into())
}

/// The packet program on its interface.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Attachment {
    interface: String,
    program: u32,
}

impl Attachment {
    /// Whether the interface of this name still has this program. It has not after `waggle detach`, and
    /// when the interface was deleted, be it that a new one has the name.
    ///
    /// One question to the kernel: cheap enough for every turn.
    ///
    /// # Errors
    ///
    /// The kernel does not tell.
    pub fn stands(&self) -> io::Result<bool> {
        let Some(index) = interface::index(&self.interface) else {
            return Ok(false);
        };
        match interface::attached(index) {
            Ok(there) => Ok(there.is_some_and(|there| there.program == self.program)),
            Err(error) if error.raw_os_error() == Some(Errno::ENODEV as i32) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// A link that an earlier daemon has pinned.
pub(super) struct Running {
    link: FdLink,
    pub(super) mode: Mode,
}

/// The pinned link, if it still holds a program on the interface. One whose interface is gone is
/// removed.
pub(super) fn running(
    pins: &Pins,
    interface: &str,
    index: u32,
) -> Result<Option<Running>, AttachError> {
    if !pins.link().exists() {
        return Ok(None);
    }
    let unknown = |reason: String| AttachError::UnknownLink {
        path: pins.link(),
        reason,
    };
    let pinned = PinnedLink::from_pin(pins.link()).map_err(|e| unknown(e.to_string()))?;
    let link = FdLink::from(pinned);
    let id = link.info().map_err(|e| unknown(e.to_string()))?.id();
    let open = interface::open_links().map_err(|e| unknown(e.to_string()))?;
    let open: Option<OpenLink> = open.into_iter().find(|open| open.id == id);
    let open =
        open.ok_or_else(|| unknown("it is not among this process's XDP links".to_owned()))?;
    if open.interface == 0 {
        fs::remove_file(pins.link()).map_err(program_error)?;
        return Ok(None);
    }
    let attached = interface::attached(index).map_err(program_error)?;
    match attached {
        Some(Attached { mode, program }) if program == open.program => {
            Ok(Some(Running { link, mode }))
        }
        _ => Err(AttachError::OtherInterface {
            there: interface::name(open.interface),
            wanted: interface.to_owned(),
        }),
    }
}

/// Puts the object's program in the place of the one that runs: no packet meets none.
pub(super) fn replace(
    ebpf: &mut Ebpf,
    running: Running,
    interface: &str,
    pins: &Pins,
) -> Result<Attachment, AttachError> {
    let program = program(ebpf)?;
    load(program)?;
    let link = XdpLink::try_from(running.link).map_err(program_error)?;
    // All that may well fail comes before the new program takes over.
    pin_next(program, pins)?;
    let id = program.attach_to_link(link).map_err(program_error)?;
    // From here on the pin alone holds the link, so that to remove the pin is to detach.
    drop(program.take_link(id).map_err(program_error)?);
    settle(program, interface, pins)
}

/// Attaches the object's program to an interface that has none, and pins it.
pub(super) fn attach(
    ebpf: &mut Ebpf,
    interface: &str,
    index: u32,
    mode: Mode,
    pins: &Pins,
) -> Result<Attachment, AttachError> {
    let program = program(ebpf)?;
    load(program)?;
    let flags = match mode {
        Mode::Generic => XdpMode::Skb,
        Mode::Native => XdpMode::Driver,
    };
    let id = program
        .attach_to_if_index(index, flags)
        .map_err(|error| refused(error, interface, index, mode))?;
    let link = program.take_link(id).map_err(program_error)?;
    let link = FdLink::try_from(link).map_err(program_error)?;
    pin_next(program, pins)?;
    link.pin(pins.link()).map_err(program_error)?;
    settle(program, interface, pins)
}

pub(super) fn program(ebpf: &mut Ebpf) -> Result<&mut Xdp, AttachError> {
    ebpf.program_mut(PROGRAM)
        .ok_or_else(|| program_error(format!("the object has no program `{PROGRAM}`")))?
        .try_into()
        .map_err(program_error)
}

/// The verifier gives up when a signal comes; libbpf tries as often.
const ATTEMPTS: usize = 5;

pub(super) fn load(program: &mut Xdp) -> Result<(), AttachError> {
    for _ in 1..ATTEMPTS {
        match program.load() {
            Err(ProgramError::LoadError { io_error, .. })
                if io_error.kind() == io::ErrorKind::WouldBlock => {}
            loaded => return loaded.map_err(rejected),
        }
    }
    program.load().map_err(rejected)
}

/// The whole log of the verifier has a line for every instruction; its reason stands at the end.
fn rejected(error: ProgramError) -> AttachError {
    let ProgramError::LoadError {
        io_error,
        verifier_log,
    } = error
    else {
        return program_error(error);
    };
    let log = verifier_log.to_string();
    let mut end: Vec<_> = log.trim().lines().rev().take(4).collect();
    end.reverse();
    program_error(format!(
        "the kernel rejects it: {io_error}; {}",
        end.join("; ")
    ))
}

/// Pins a program beside the one whose place it will take.
fn pin_next(program: &mut Xdp, pins: &Pins) -> Result<(), AttachError> {
    let next = pins.next_program();
    match fs::remove_file(&next) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(program_error(error)),
        _ => {}
    }
    program.pin(next).map_err(program_error)
}

/// Says that the program pinned last is the one that runs.
fn settle(program: &Xdp, interface: &str, pins: &Pins) -> Result<Attachment, AttachError> {
    fs::rename(pins.next_program(), pins.program()).map_err(program_error)?;
    Ok(Attachment {
        interface: interface.to_owned(),
        program: program.info().map_err(program_error)?.id(),
    })
}

fn refused(error: ProgramError, interface: &str, index: u32, mode: Mode) -> AttachError {
    let errno = match &error {
        ProgramError::SyscallError(call) => call.io_error.raw_os_error(),
        ProgramError::XdpError(XdpError::NetlinkError(error)) => error.raw_os_error(),
        _ => None,
    };
    let interface = interface.to_owned();
    match errno.map(Errno::from_raw) {
        Some(Errno::EBUSY | Errno::EEXIST) => {
            let there = interface::attached(index).ok().flatten();
            let id = there.map(|attached| attached.program);
            AttachError::OtherProgram { interface, id }
        }
        Some(Errno::EOPNOTSUPP) => AttachError::Refused {
            interface,
            mode,
            reason: "its driver has none".to_owned(),
        },
        Some(errno) => AttachError::Refused {
            interface,
            mode,
            reason: format!(
                "{} ({errno:?}: often an MTU or a number of queues too large for it)",
                errno.desc()
            ),
        },
        None => program_error(error),
    }
}

#[cfg(test)]
mod tests {
    use aya_obj::VerifierLog;

    use super::*;

    #[test]
    fn a_verifiers_long_log_is_cut_to_one_line_with_the_reason() {
        let log = "0: R1=ctx()\n1: (bf) r6 = r1\n2: (61) r0 = *(u32 *)(r1 +4)\n\
                   invalid access to packet\nprocessed 3 insns (limit 1000000)\n\n";
        let error = rejected(ProgramError::LoadError {
            io_error: io::Error::from_raw_os_error(Errno::EACCES as i32),
            verifier_log: VerifierLog::new(log.to_owned()),
        });
        let line = error.to_string();
        assert!(!line.contains('\n') && !line.contains("ctx()"), "{line}");
        assert!(line.contains("Permission denied"), "{line}");
        assert!(line.contains("invalid access to packet"), "{line}");
    }
}
