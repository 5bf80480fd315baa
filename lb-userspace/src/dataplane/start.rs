use std::{collections::BTreeMap, fs};

use aya::Ebpf;
use lb_common::HashKey;

use super::{
    Kernel,
    attach::{self, Attachment, Unattached},
    detach,
    interface::{self, Interface, Mode},
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
    /// The program on each of its interfaces.
    pub attachments: Vec<Attachment>,
    /// Whether the program of an earlier daemon was running and was replaced without a gap.
    pub adopted: bool,
    /// What the operator should know.
    pub warnings: Vec<Refusal>,
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
        let fresh = !pins.maps().exists() && pins.links()?.is_empty();
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
    interfaces: Vec<Interface>,
    pins: Pins,
    shapes: BTreeMap<String, Shape>,
}

impl<'a> Starting<'a> {
    fn new(edge: &'a Edge, ring_key: HashKey, pins: Pins) -> Result<Self, Refusal> {
        let found = |name: &String| match interface::index(name) {
            Some(index) => Ok(Interface {
                name: name.clone(),
                index,
            }),
            None => Err(no_interface(name, interface::names().join(", "))),
        };
        Ok(Self {
            edge,
            ring_key,
            interfaces: edge
                .interfaces
                .iter()
                .map(found)
                .collect::<Result<_, _>>()?,
            pins,
            shapes: object::shapes(edge)?,
        })
    }

    fn start(&self) -> Result<Started, Refusal> {
        self.pins.make(&self.pins.maps())?;
        self.pins.check_maps(&self.shapes)?;
        let running = attach::running(&self.pins, &self.interfaces)?;
        let mut interfaces = Vec::new();
        let mut warnings = Vec::new();
        for interface in &self.interfaces {
            let mode = match running.get(&interface.index) {
                Some(running) => self.adopted_mode(interface, running.mode, &mut warnings)?,
                None => self.first_mode(),
            };
            interfaces.push((interface.clone(), mode));
        }
        drop(running);
        // Each attempt takes a fresh object: after a refusal a kernel may refuse the same one again.
        loop {
            let Unattached { at, why } = match self.attach(&interfaces) {
                Ok(started) => {
                    return Ok(Started {
                        warnings,
                        ..started
                    });
                }
                Err(unattached) => unattached,
            };
            let refused = at.map(|at| &mut interfaces[at].1);
            match (self.edge.xdp_mode, refused) {
                (XdpMode::Auto, Some(mode @ Mode::Native)) if why.code == "no-native-xdp" => {
                    *mode = Mode::Generic;
                    warnings.push(why.after("attached in generic mode, which is slow"));
                }
                _ => return Err(why),
            }
        }
    }

    fn first_mode(&self) -> Mode {
        match self.edge.xdp_mode {
            XdpMode::Generic => Mode::Generic,
            XdpMode::Auto | XdpMode::Native => Mode::Native,
        }
    }

    /// The mode of a program that runs, which can not be changed.
    fn adopted_mode(
        &self,
        interface: &Interface,
        mode: Mode,
        warnings: &mut Vec<Refusal>,
    ) -> Result<Mode, Refusal> {
        match (self.edge.xdp_mode, mode) {
            (XdpMode::Native, Mode::Generic) | (XdpMode::Generic, Mode::Native) => {
                return Err(other_mode(&interface.name, mode));
            }
            (XdpMode::Auto, Mode::Generic) => warnings.push(slow_mode()),
            _ => {}
        }
        Ok(mode)
    }

    fn attach(&self, interfaces: &[(Interface, Mode)]) -> Result<Started, Unattached> {
        let (mut object, kernel) = self.load()?;
        let running = attach::running(&self.pins, &self.interfaces)?;
        let adopted = !running.is_empty();
        if !adopted {
            self.put_settings(&kernel);
        }
        let attachments = attach::put(&mut object, interfaces, running, &self.pins)?;
        if adopted {
            // Not before: the program that ran until now may go on, and its flows are with the old key.
            self.put_settings(&kernel);
        }
        Ok(Started {
            kernel,
            attachments,
            adopted,
            warnings: Vec::new(),
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
}
