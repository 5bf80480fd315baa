use std::{error::Error, fs, io};

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
use crate::refusal::{
    Refusal,
    pins::{unknown_link, unusable_pins},
    program::{
        broken_object, no_generic_xdp, no_native_xdp, other_interface, other_program,
        rejected_program, unattached_program,
    },
    reason,
};

fn failed(error: impl Error) -> Refusal {
    unattached_program(reason(&error))
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

    /// The MAC address of the interface; `None` if there is no such interface any more.
    ///
    /// # Errors
    ///
    /// The kernel does not tell.
    pub fn station(&self) -> io::Result<Option<[u8; 6]>> {
        let index = interface::index(&self.interface);
        index.map_or(Ok(None), interface::station)
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
) -> Result<Option<Running>, Refusal> {
    if !pins.link().exists() {
        return Ok(None);
    }
    let path = pins.link();
    let unknown = |error: &dyn Error| unknown_link(path.display(), reason(error));
    let link = FdLink::from(PinnedLink::from_pin(&path).map_err(|e| unknown(&e))?);
    let id = link.info().map_err(|e| unknown(&e))?.id();
    let open = interface::open_links().map_err(|e| unknown(&e))?;
    let open: Option<OpenLink> = open.into_iter().find(|open| open.id == id);
    let open = open
        .ok_or_else(|| unknown_link(path.display(), "it is not among this process's XDP links"))?;
    if open.interface == 0 {
        fs::remove_file(&path).map_err(|e| unusable_pins(path.display(), e))?;
        return Ok(None);
    }
    let attached = interface::attached(index).map_err(failed)?;
    match attached {
        Some(Attached { mode, program }) if program == open.program => {
            Ok(Some(Running { link, mode }))
        }
        _ => Err(other_interface(interface::name(open.interface), interface)),
    }
}

/// Puts the object's program in the place of the one that runs: no packet meets none.
pub(super) fn replace(
    ebpf: &mut Ebpf,
    running: Running,
    interface: &str,
    pins: &Pins,
) -> Result<Attachment, Refusal> {
    let program = program(ebpf)?;
    load(program)?;
    let link = XdpLink::try_from(running.link).map_err(failed)?;
    // All that may well fail comes before the new program takes over.
    pin_next(program, pins)?;
    let id = program.attach_to_link(link).map_err(failed)?;
    // From here on the pin alone holds the link, so that to remove the pin is to detach.
    drop(program.take_link(id).map_err(failed)?);
    settle(program, interface, pins)
}

/// Attaches the object's program to an interface that has none, and pins it.
pub(super) fn attach(
    ebpf: &mut Ebpf,
    interface: &str,
    index: u32,
    mode: Mode,
    pins: &Pins,
) -> Result<Attachment, Refusal> {
    let program = program(ebpf)?;
    load(program)?;
    let flags = match mode {
        Mode::Generic => XdpMode::Skb,
        Mode::Native => XdpMode::Driver,
    };
    let id = program
        .attach_to_if_index(index, flags)
        .map_err(|error| refused(error, interface, index, mode))?;
    let link = program.take_link(id).map_err(failed)?;
    let link = FdLink::try_from(link).map_err(failed)?;
    pin_next(program, pins)?;
    link.pin(pins.link())
        .map_err(|error| unusable_pins(pins.link().display(), reason(&error)))?;
    settle(program, interface, pins)
}

pub(super) fn program(ebpf: &mut Ebpf) -> Result<&mut Xdp, Refusal> {
    ebpf.program_mut(PROGRAM)
        .ok_or_else(|| broken_object(format_args!("it has no program `{PROGRAM}`")))?
        .try_into()
        .map_err(|error: ProgramError| broken_object(reason(&error)))
}

/// The verifier gives up when a signal comes; libbpf tries as often.
const ATTEMPTS: usize = 5;

pub(super) fn load(program: &mut Xdp) -> Result<(), Refusal> {
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
fn rejected(error: ProgramError) -> Refusal {
    let ProgramError::LoadError {
        io_error,
        verifier_log,
    } = error
    else {
        return failed(error);
    };
    let log = verifier_log.to_string();
    let mut end: Vec<_> = log.trim().lines().rev().take(4).collect();
    end.reverse();
    rejected_program(format_args!("{io_error}; {}", end.join("; ")))
}

/// Pins a program beside the one whose place it will take.
fn pin_next(program: &mut Xdp, pins: &Pins) -> Result<(), Refusal> {
    let next = pins.next_program();
    match fs::remove_file(&next) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(unusable_pins(next.display(), error));
        }
        _ => {}
    }
    let pinned = program.pin(&next);
    pinned.map_err(|error| unusable_pins(next.display(), reason(&error)))
}

/// Says that the program pinned last is the one that runs.
fn settle(program: &Xdp, interface: &str, pins: &Pins) -> Result<Attachment, Refusal> {
    fs::rename(pins.next_program(), pins.program())
        .map_err(|error| unusable_pins(pins.program().display(), error))?;
    Ok(Attachment {
        interface: interface.to_owned(),
        program: program.info().map_err(failed)?.id(),
    })
}

/// What is left of a page of 4,096 bytes beside the room in front of a frame, the kernel's own data behind
/// it, and two VLAN tags. Some drivers take less.
const LARGEST_FRAME: u32 = 3498;

fn refused(error: ProgramError, interface: &str, index: u32, mode: Mode) -> Refusal {
    let errno = match &error {
        ProgramError::SyscallError(call) => call.io_error.raw_os_error(),
        ProgramError::XdpError(XdpError::NetlinkError(error)) => error.raw_os_error(),
        _ => None,
    };
    let reason = match errno.map(Errno::from_raw) {
        Some(Errno::EBUSY | Errno::EEXIST) => {
            let there = interface::attached(index).ok().flatten();
            let id = there.map(|attached| format!(" (id {})", attached.program));
            return other_program(interface, id.unwrap_or_default());
        }
        Some(Errno::EOPNOTSUPP) => "its driver has none".to_owned(),
        Some(errno) => match (mode, interface::mtu(index)) {
            (Mode::Native, Ok(Some(mtu))) if mtu > LARGEST_FRAME => format!(
                "its MTU is {mtu} ({errno:?}), and a packet must fit into a page: at most \
                 {LARGEST_FRAME} bytes (`ip link set dev {interface} mtu {LARGEST_FRAME}`)"
            ),
            _ => format!(
                "{} ({errno:?}: often an MTU or a number of queues too large for it)",
                errno.desc()
            ),
        },
        None => return failed(error),
    };
    match mode {
        Mode::Generic => no_generic_xdp(interface, reason),
        Mode::Native => no_native_xdp(interface, reason),
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
        assert_eq!(error.code, "rejected-program");
        let line = error.to_string();
        assert!(!line.contains('\n') && !line.contains("ctx()"), "{line}");
        assert!(line.contains("Permission denied"), "{line}");
        assert!(line.contains("invalid access to packet"), "{line}");
    }
}
