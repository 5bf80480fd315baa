//! Cables that frames go through, one to each program.
//!
//! A cable is a pair of virtual interfaces in a network namespace that is this thread's alone and vanishes with
//! the process, however it ends. At the far end the program stands that is measured; at the near end, where
//! the frames are made, what it sends back is dropped. Nothing waits for another CPU: the interfaces are
//! polled on the CPU of the thread that sends, and for it, before it goes on.

use std::{fs, process::Command};

use anyhow::{Context as _, ensure};
use aya::{
    Ebpf, TestRun as _, TestRunAttrs, TestRunOptions,
    programs::{Xdp, XdpMode},
};
use lb_common::Station;
use lb_tests::datapath::edge::{Edge, STATION};
use nix::{
    net::if_::if_nametoindex,
    sched::{CloneFlags, unshare},
};

use crate::rig::{SUBJECTS, Subject};

/// Frames that are sent before the interfaces are polled, as many as a poll takes (NAPI_POLL_WEIGHT).
const BATCH: u32 = 64;

/// The cables; they are gone when the thread takes its next ones.
pub(crate) struct Wire {
    /// The near end of each, by the number of its subject.
    near: [u32; SUBJECTS.len()],
}

impl Wire {
    /// Lays the cables and attaches the programs.
    pub(crate) fn new(object: &mut Ebpf, edge: &mut Edge) -> anyhow::Result<Self> {
        unshare(CloneFlags::CLONE_NEWNET).context("cables need a network namespace")?;
        // The interfaces are to have no traffic but what is measured.
        let quiet = "/proc/sys/net/ipv6/conf/default/disable_ipv6";
        fs::write(quiet, "1").context(quiet)?;
        let mut near = [0; SUBJECTS.len()];
        for subject in SUBJECTS {
            let ends = Ends::of(subject);
            ends.lay()?;
            near[subject as usize] = if_nametoindex(ends.near.as_str())?;
            let program = match subject {
                Subject::Floor => program_mut(object, "floor")?,
                Subject::Reference => program_mut(object, "reference")?,
                Subject::Product => {
                    let index = if_nametoindex(ends.far.as_str())?;
                    edge.insert("STATIONS", index, Station::new(STATION));
                    edge.program_mut()
                }
            };
            program.attach(&ends.far, XdpMode::Driver)?;
            program_mut(object, "absorb")?.attach(&ends.near, XdpMode::Driver)?;
        }
        Ok(Self { near })
    }

    /// Sends so many frames to a program, made by the generator.
    pub(crate) fn send(
        &self,
        generator: &Xdp,
        subject: Subject,
        frame: &[u8],
        packets: u32,
    ) -> anyhow::Result<()> {
        // `struct xdp_md`: the frame's bounds, no metadata, the interface, a queue, no other interface.
        let near = self.near[subject as usize];
        let end = u32::try_from(frame.len())?;
        let context = [0, end, 0, near, 0, 0].map(u32::to_ne_bytes);
        generator.test_run(TestRunOptions {
            data_in: Some(frame),
            ctx_in: Some(context.as_flattened()),
            repeat: packets,
            attrs: TestRunAttrs::new().xdp_live_frames(BATCH),
            ..TestRunOptions::default()
        })?;
        Ok(())
    }
}

/// The names of a cable's ends.
struct Ends {
    near: String,
    far: String,
}

impl Ends {
    fn of(subject: Subject) -> Self {
        let number = subject as u32;
        Self {
            near: format!("near{number}"),
            far: format!("far{number}"),
        }
    }

    /// Makes the interfaces, with one queue each.
    fn lay(&self) -> anyhow::Result<()> {
        let Self { near, far } = self;
        ip(&format!(
            "link add {near} numrxqueues 1 numtxqueues 1 type veth \
             peer name {far} numrxqueues 1 numtxqueues 1"
        ))?;
        ip(&format!("link set {near} up"))?;
        ip(&format!("link set {far} up"))
    }
}

fn ip(line: &str) -> anyhow::Result<()> {
    let output = Command::new("ip")
        .args(line.split_whitespace())
        .output()
        .context("the command `ip` is needed")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "ip {line}: {said}");
    Ok(())
}

fn program_mut<'a>(object: &'a mut Ebpf, name: &'static str) -> anyhow::Result<&'a mut Xdp> {
    Ok(object.program_mut(name).context(name)?.try_into()?)
}
