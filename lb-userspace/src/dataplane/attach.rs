use std::{collections::BTreeMap, error::Error, fs, io, path::Path};

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
    interface::{self, Attached, Interface, Mode, OpenLink},
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

/// The packet program on an interface.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Attachment {
    /// The interface.
    pub interface: String,
    /// How the program is attached.
    pub mode: Mode,
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

    /// Index and MAC address of the interface; `None` if there is no such interface any more.
    ///
    /// # Errors
    ///
    /// The kernel does not tell.
    pub fn station(&self) -> io::Result<Option<(u32, [u8; 6])>> {
        let Some(index) = interface::index(&self.interface) else {
            return Ok(None);
        };
        Ok(interface::station(index)?.map(|mac| (index, mac)))
    }
}

/// A link that an earlier daemon has pinned.
pub(super) struct Running {
    link: FdLink,
    pub(super) mode: Mode,
}

/// The pinned links that hold a program on one of these interfaces, by the index of that. One whose interface
/// is gone is removed.
///
/// # Errors
///
/// There is a link to another interface, or the kernel does not tell of one.
pub(super) fn running(
    pins: &Pins,
    interfaces: &[Interface],
) -> Result<BTreeMap<u32, Running>, Refusal> {
    let links = pins.links()?.into_iter();
    let running = links.filter_map(|path| running_at(&path, interfaces).transpose());
    running.collect()
}

fn running_at(path: &Path, interfaces: &[Interface]) -> Result<Option<(u32, Running)>, Refusal> {
    let unknown = |error: &dyn Error| unknown_link(path.display(), reason(error));
    let link = FdLink::from(PinnedLink::from_pin(path).map_err(|e| unknown(&e))?);
    let id = link.info().map_err(|e| unknown(&e))?.id();
    let open = interface::open_links().map_err(|e| unknown(&e))?;
    let open: Option<OpenLink> = open.into_iter().find(|open| open.id == id);
    let open = open
        .ok_or_else(|| unknown_link(path.display(), "it is not among this process's XDP links"))?;
    if open.interface == 0 {
        fs::remove_file(path).map_err(|e| unusable_pins(path.display(), e))?;
        return Ok(None);
    }
    let wanted = interfaces.iter().any(|it| it.index == open.interface);
    let attached = match wanted {
        true => interface::attached(open.interface).map_err(failed)?,
        false => None,
    };
    match attached {
        Some(Attached { mode, program }) if program == open.program => {
            Ok(Some((open.interface, Running { link, mode })))
        }
        _ => {
            let wanted: Vec<_> = interfaces.iter().map(|it| it.name.as_str()).collect();
            let there = interface::name(open.interface);
            Err(other_interface(there, wanted.join(" or ")))
        }
    }
}

/// Why the program is not on all interfaces; then it is on none that did not have it before.
pub(super) struct Unattached {
    /// Which of them takes none, if that is why.
    pub(super) at: Option<usize>,
    pub(super) why: Refusal,
}

impl From<Refusal> for Unattached {
    fn from(why: Refusal) -> Self {
        Self { at: None, why }
    }
}

/// Puts the object's program on interfaces, each in a mode, and pins it: where one is running, in the place of
/// that, so that no packet meets none.
pub(super) fn put(
    ebpf: &mut Ebpf,
    interfaces: &[(Interface, Mode)],
    mut running: BTreeMap<u32, Running>,
    pins: &Pins,
) -> Result<Vec<Attachment>, Unattached> {
    let program = program(ebpf)?;
    load(program)?;
    // All that may well fail comes before the new program takes over anywhere.
    pin_next(program, pins)?;
    let new = interfaces.iter().enumerate();
    let new = new.filter(|(_, (interface, _))| !running.contains_key(&interface.index));
    let mut made = Vec::new();
    for (at, (interface, mode)) in new {
        let pin = pins.link(interface.index);
        if let Err(why) = attach(program, interface, *mode, &pin) {
            // The pins alone hold the links.
            made.iter().for_each(|pin| drop(fs::remove_file(pin)));
            return Err(Unattached { at: Some(at), why });
        }
        made.push(pin);
    }
    for (interface, _) in interfaces {
        if let Some(running) = running.remove(&interface.index) {
            replace(program, running)?;
        }
    }
    settle(program, interfaces, pins).map_err(Unattached::from)
}

fn replace(program: &mut Xdp, running: Running) -> Result<(), Refusal> {
    let link = XdpLink::try_from(running.link).map_err(failed)?;
    let id = program.attach_to_link(link).map_err(failed)?;
    // From here on the pin alone holds the link, so that to remove the pin is to detach.
    drop(program.take_link(id).map_err(failed)?);
    Ok(())
}

fn attach(program: &mut Xdp, interface: &Interface, mode: Mode, pin: &Path) -> Result<(), Refusal> {
    let flags = match mode {
        Mode::Generic => XdpMode::Skb,
        Mode::Native => XdpMode::Driver,
    };
    let id = program
        .attach_to_if_index(interface.index, flags)
        .map_err(|error| refused(error, interface, mode))?;
    let link = program.take_link(id).map_err(failed)?;
    let link = FdLink::try_from(link).map_err(failed)?;
    let pinned = link.pin(pin);
    pinned.map_err(|error| unusable_pins(pin.display(), reason(&error)))?;
    Ok(())
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
fn settle(
    program: &Xdp,
    interfaces: &[(Interface, Mode)],
    pins: &Pins,
) -> Result<Vec<Attachment>, Refusal> {
    fs::rename(pins.next_program(), pins.program())
        .map_err(|error| unusable_pins(pins.program().display(), error))?;
    let program = program.info().map_err(failed)?.id();
    let attachment = |(interface, mode): &(Interface, Mode)| Attachment {
        interface: interface.name.clone(),
        mode: *mode,
        program,
    };
    Ok(interfaces.iter().map(attachment).collect())
}

/// What is left of a page of 4,096 bytes beside the room in front of a frame, the kernel's own data behind
/// it, and two VLAN tags. Some drivers take less.
const LARGEST_FRAME: u32 = 3498;

fn refused(
    error: ProgramError,
    Interface {
        name: interface,
        index,
    }: &Interface,
    mode: Mode,
) -> Refusal {
    let errno = match &error {
        ProgramError::SyscallError(call) => call.io_error.raw_os_error(),
        ProgramError::XdpError(XdpError::NetlinkError(error)) => error.raw_os_error(),
        _ => None,
    };
    let reason = match errno.map(Errno::from_raw) {
        Some(Errno::EBUSY | Errno::EEXIST) => {
            let there = interface::attached(*index).ok().flatten();
            let id = there.map(|attached| format!(" (id {})", attached.program));
            return other_program(interface, id.unwrap_or_default());
        }
        Some(Errno::EOPNOTSUPP) => "its driver has none".to_owned(),
        Some(errno) => match (mode, interface::mtu(*index)) {
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
