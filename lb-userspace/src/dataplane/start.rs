use std::{collections::BTreeMap, fs};

use aya::{Ebpf, EbpfError};
use aya_obj::ParseError;
use lb_common::HashKey;

use super::{
    Kernel, KernelError,
    attach::{self, AttachError, Attachment, Running},
    detach,
    interface::{self, Mode},
    object::{self, Shape},
    pins::{Pins, PinsError},
};
use crate::model::{Edge, XdpMode};

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
    pub warning: Option<String>,
    /// The loaded object, for reading the packet program's log. Dropping it changes nothing for
    /// packets.
    pub object: Ebpf,
}

/// Why an edge does not start. Each message is one line that says how to mend it.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The program is not attached.
    #[error(transparent)]
    Attach(#[from] AttachError),
    /// The maps can not be used.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The object does not load.
    #[error("the packet program does not load: {0}")]
    Load(#[from] EbpfError),
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
    /// Starts an edge: loads the packet program onto the pinned maps, which are made if they are not
    /// there, and attaches it. A program of an earlier daemon is replaced in one step.
    ///
    /// The caller has asked [`super::check_host`] and holds [`super::Lock`]. `ring_key` is put into
    /// force if it differs from what is in use; the flow table's secret stays.
    ///
    /// # Errors
    ///
    /// [`StartError`]; then whatever ran before goes on running, as it was, and nothing new is left
    /// behind.
    pub fn start(edge: &Edge, ring_key: HashKey) -> Result<Started, StartError> {
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
    fn new(edge: &'a Edge, ring_key: HashKey, pins: Pins) -> Result<Self, StartError> {
        let interface = edge.interface.as_str();
        let index = interface::index(interface)
            .ok_or_else(|| StartError::NoInterface(interface.to_owned()))?;
        Ok(Self {
            edge,
            ring_key,
            index,
            pins,
            shapes: object::shapes(edge)?,
        })
    }

    fn start(&self) -> Result<Started, StartError> {
        self.pins.make(&self.pins.maps())?;
        self.pins.check_maps(&self.shapes)?;
        match attach::running(&self.pins, &self.edge.interface, self.index)? {
            Some(running) => self.take_over(running),
            None => self.attach(),
        }
    }

    fn take_over(&self, running: Running) -> Result<Started, StartError> {
        let mode = running.mode;
        self.check_mode(mode)?;
        let (mut object, kernel) = self.load()?;
        let interface = &self.edge.interface;
        let attachment = attach::replace(&mut object, running, interface, &self.pins)?;
        // Not before: the program that ran until now may go on, and its flows are with the old key.
        kernel.set_ring_key(self.ring_key);
        let slow = (self.edge.xdp_mode, mode) == (XdpMode::Auto, Mode::Generic);
        Ok(Started {
            kernel,
            attachment,
            mode,
            adopted: true,
            warning: slow.then(|| {
                "the running program is attached in generic mode, which is slow: `waggle detach` and \
                 a new start tries native again"
                    .to_owned()
            }),
            object,
        })
    }

    fn attach(&self) -> Result<Started, StartError> {
        match self.edge.xdp_mode {
            XdpMode::Generic => self.attach_as(Mode::Generic),
            XdpMode::Native => self.attach_as(Mode::Native),
            XdpMode::Auto => match self.attach_as(Mode::Native) {
                Err(StartError::Attach(error @ AttachError::Refused { .. })) => {
                    let warning = format!("attached in generic mode, which is slow: {error}");
                    Ok(Started {
                        warning: Some(warning),
                        ..self.attach_as(Mode::Generic)?
                    })
                }
                other => other,
            },
        }
    }

    /// Each attempt takes a fresh object: after a refusal a kernel may refuse the same one again.
    fn attach_as(&self, mode: Mode) -> Result<Started, StartError> {
        let (mut object, kernel) = self.load()?;
        kernel.set_ring_key(self.ring_key);
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

    fn load(&self) -> Result<(Ebpf, Kernel), StartError> {
        let object = object::load(self.edge, &self.pins.maps(), self.shapes.keys())?;
        let kernel = Kernel::open(self.pins.dir())?;
        kernel.draw_secret()?;
        Ok((object, kernel))
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
