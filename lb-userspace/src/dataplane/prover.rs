use aya::{
    Ebpf, TestRun as _, TestRunOptions,
    programs::{ProgramError, Xdp},
};
use lb_common::Proof;

use super::{attach, object, pins::Pins};
use crate::{model::Edge, refusal::Refusal};

/// The packet program once more, attached nowhere: it reads the pinned maps, tells how it decides
/// about a packet and leaves no trace.
pub struct Prover {
    object: Ebpf,
}

/// Why the program in the kernel was not asked.
#[derive(Debug, thiserror::Error)]
pub enum Unasked {
    /// A map is not pinned any more.
    #[error("map {0} is not pinned any more; start the daemon anew, which makes it again")]
    Detached(String),
    /// The kernel does not take the program.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// It does not run.
    #[error("the kernel does not run the packet program for a test, which takes Linux 5.15: {0}")]
    Run(#[from] ProgramError),
    /// It says nothing that is a proof.
    #[error("the packet program gave no answer to a test")]
    Silent,
}

impl Prover {
    /// Loads the program on the maps of `edge`, which are all pinned. It takes the verifier a while.
    ///
    /// # Errors
    ///
    /// A map is not there, or the kernel does not take the program.
    pub fn load(edge: &Edge) -> Result<Self, Unasked> {
        let pins = Pins::new(&edge.pin_dir);
        let names = object::map_names()?;
        // The loader would make and pin what is missing.
        if let Some(missing) = names.iter().find(|name| !pins.maps().join(name).exists()) {
            return Err(Unasked::Detached(missing.clone()));
        }
        let mut object = object::load_prover(edge, &pins.maps(), names.iter())?;
        attach::load(attach::program(&mut object)?)?;
        Ok(Self { object })
    }

    /// How the program would decide about a frame, were it the first of its flow.
    ///
    /// # Errors
    ///
    /// The program does not run, or does not answer.
    pub fn ask(&self, frame: &[u8]) -> Result<Proof, Unasked> {
        /// Room for the answer and for an outer header.
        const ROOM: usize = 256;
        let program: &Xdp = (self.object.program(object::PROGRAM))
            .ok_or(Unasked::Silent)?
            .try_into()?;
        // `struct xdp_md`: data, data_end, data_meta, and three numbers that are no matter here.
        let before = [0, frame.len() as u32, 0, 0, 0, 0]
            .map(u32::to_ne_bytes)
            .concat();
        let mut after = before.clone();
        let mut out = vec![0; frame.len() + ROOM];
        let ran = program
            .test_run(TestRunOptions {
                data_in: Some(frame),
                data_out: Some(&mut out),
                ctx_in: Some(&before),
                ctx_out: Some(&mut after),
                ..TestRunOptions::default()
            })
            .map_err(Unasked::Run)?;
        out.truncate(ran.data_size_out as usize);
        // The frame begins behind the metadata, and there is none but the answer.
        if after[..4] != (size_of::<Proof>() as u32).to_ne_bytes() {
            return Err(Unasked::Silent);
        }
        let (proof, _frame) = Proof::take(&out).ok_or(Unasked::Silent)?;
        Ok(proof)
    }
}
