use std::{collections::BTreeMap, fs};

use aya::Ebpf;
use lb_common::HashKey;

use super::{
    Kernel,
    attach::{self, Attachment, Running},
    detach,
    interface::{self, Mode},
    object::{self, Shape},
    pins::Pins,
};
use crate::{
    model::{Edge, XdpMode},
    refusal::{Refusal, host::no_interface, notice::slow_mode, program::other_mode},
};

/// A running edge.
pub struct Started {
    /// Its maps.
    pub kernel: Kernel,
    /// The program on its interface.
    pub attachment: Attachment,
    /// How it is attached.
    pub mode: Mode,
    /// Whether the program of an earlier daemon was running and was replaced without a gap.
    pub adopted: bool,
    /// What the operator should know.
    pub warning: Option<Refusal>,
    /// The loaded object, for reading the packet program's log. Dropping it changes nothing for
    /// packets.
    pub object: Ebpf,
}

impl Kernel {
    /// Starts an edge: loads the packet program onto the pinned maps, which are made if they are not
    /// there, and attaches it. A program of an earlier daemon is replaced in one step.
    ///
    /// The caller has asked [`super::check_host`] and holds [`super::Lock`]. `ring_key` is put into
    /// force if it differs from what is in use; the flow table's secret stays.
    ///
    /// # Errors
    ///
    /// There is no such interface, the pins do not fit or can not be used, or the kernel refuses the
    /// tables or the program; then whatever ran before goes on running, as it was, and nothing new is
    /// left behind.
    pub fn start(edge: &Edge, ring_key: HashKey) -> Result<Started, Refusal> {
        let pins = Pins::new(&edge.pin_dir);
        let fresh = !pins.maps().exists() && !pins.link().exists();
        let started = Starting::new(edge, ring_key, pins.clone()).and_then(|edge| edge.start());
        if started.is_err() {
            // What was made in vain; the error above says more than one from here could.
            let _ = match fresh {
                true => detach(pins.dir()).is_ok(),
                false => fs::remove_file(pins.next_program()).is_ok(),
            };
        }
        started
    }
}

struct Starting<'a> {
    edge: &'a Edge,
    ring_key: HashKey,
    index: u32,
    pins: Pins,
    shapes: BTreeMap<String, Shape>,
}

impl<'a> Starting<'a> {
    fn new(edge: &'a Edge, ring_key: HashKey, pins: Pins) -> Result<Self, Refusal> {
        let interface = edge.interface.as_str();
        let index = interface::index(interface)
            .ok_or_else(|| no_interface(interface, interface::names().join(", ")))?;
        Ok(Self {
            edge,
            ring_key,
            index,
            pins,
            shapes: object::shapes(edge)?,
        })
    }

    fn start(&self) -> Result<Started, Refusal> {
        self.pins.make(&self.pins.maps())?;
        self.pins.check_maps(&self.shapes)?;
        match attach::running(&self.pins, &self.edge.interface, self.index)? {
            Some(running) => self.take_over(running),
            None => self.attach(),
        }
    }

    fn take_over(&self, running: Running) -> Result<Started, Refusal> {
        let mode = running.mode;
        self.check_mode(mode)?;
        let (mut object, kernel) = self.load()?;
        let interface = &self.edge.interface;
        let attachment = attach::replace(&mut object, running, interface, &self.pins)?;
        // Not before: the program that ran until now may go on, and its flows are with the old key.
        self.put_settings(&kernel);
        let slow = (self.edge.xdp_mode, mode) == (XdpMode::Auto, Mode::Generic);
        Ok(Started {
            kernel,
            attachment,
            mode,
            adopted: true,
            warning: slow.then(slow_mode),
            object,
        })
    }

    fn attach(&self) -> Result<Started, Refusal> {
        match self.edge.xdp_mode {
            XdpMode::Generic => self.attach_as(Mode::Generic),
            XdpMode::Native => self.attach_as(Mode::Native),
            XdpMode::Auto => match self.attach_as(Mode::Native) {
                Err(refusal) if refusal.code == "no-native-xdp" => Ok(Started {
                    warning: Some(refusal.after("attached in generic mode, which is slow")),
                    ..self.attach_as(Mode::Generic)?
                }),
                other => other,
            },
        }
    }

    /// Each attempt takes a fresh object: after a refusal a kernel may refuse the same one again.
    fn attach_as(&self, mode: Mode) -> Result<Started, Refusal> {
        let (mut object, kernel) = self.load()?;
        self.put_settings(&kernel);
        let interface = &self.edge.interface;
        let attachment = attach::attach(&mut object, interface, self.index, mode, &self.pins)?;
        Ok(Started {
            kernel,
            attachment,
            mode,
            adopted: false,
            warning: None,
            object,
        })
    }

    fn load(&self) -> Result<(Ebpf, Kernel), Refusal> {
        let object = object::load(self.edge, &self.pins.maps(), self.shapes.keys())?;
        let kernel = Kernel::open(self.pins.dir())?;
        kernel.draw_secret()?;
        Ok((object, kernel))
    }

    fn put_settings(&self, kernel: &Kernel) {
        kernel.set_ring_key(self.ring_key);
        kernel.set_idle(self.edge.flow_idle.ticks());
    }

    fn check_mode(&self, mode: Mode) -> Result<(), Refusal> {
        match (self.edge.xdp_mode, mode) {
            (XdpMode::Native, Mode::Generic) | (XdpMode::Generic, Mode::Native) => {
                Err(other_mode(&self.edge.interface, mode))
            }
            _ => Ok(()),
        }
    }
}
