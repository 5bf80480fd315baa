//! Measures all ways in turn.

use std::{fs, path::Path, thread, time::Duration};

use anyhow::{Context as _, ensure};
use lb_tests::lab::Wrk;
use nix::{
    sys::{
        resource::{UsageWho, getrusage},
        time::TimeValLike as _,
    },
    unistd::{SysconfVar, sysconf},
};

use crate::rig::{Rig, Way};

/// Open at a time: enough that the CPU never waits.
const CONNECTIONS: u16 = 32;

/// How long a way is under load per round: short, so that the four of a round find the machine in
/// the same state, and still a hundred times as long as the start of `wrk` takes.
const LOAD: Duration = Duration::from_millis(400);

/// Longer than any load; `wrk` is ended before.
const LONGEST: Duration = Duration::from_secs(60);

/// What was measured in a round, for each [`Way`].
pub(crate) type Round = [Cost; 4];

/// What connections cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// Microseconds of CPU time of everything in the lab, per connection.
    pub(crate) microseconds: f64,
    /// Which part of the CPU's busy time that was.
    pub(crate) share: f64,
}

/// Measures each way `rounds` times, after a turn that does not count.
pub(crate) fn measure(rig: &Rig<'_>, cpu: usize, rounds: u32) -> anyhow::Result<Vec<Round>> {
    let meter = Meter::new(rig, cpu)?;
    cost_of_all(rig, &meter)?;
    (1..=rounds)
        .map(|round| {
            eprintln!("round {round} of {rounds}");
            cost_of_all(rig, &meter)
        })
        .collect()
}

fn cost_of_all(rig: &Rig<'_>, meter: &Meter) -> anyhow::Result<Round> {
    let costs: Vec<Cost> = (Way::ALL.iter())
        .map(|way| cost(rig, meter, *way))
        .collect::<anyhow::Result<_>>()?;
    costs.try_into().ok().context("a cost for each way")
}

fn cost(rig: &Rig<'_>, meter: &Meter, way: Way) -> anyhow::Result<Cost> {
    let url = format!("http://{}/", rig.target(way));
    let (lab, busy) = (meter.lab()?, meter.busy()?);
    let wrk = Wrk::start(rig.client(), &url, CONNECTIONS, LONGEST, true);
    thread::sleep(LOAD);
    let load = wrk.end();
    let (lab, busy) = (meter.lab()? - lab, meter.busy()? - busy);
    ensure!(
        load.failed == 0 && load.requests > 0,
        "{}: connections failed, so the others' figure is not what one costs: {load:?}",
        way.name()
    );
    Ok(Cost {
        microseconds: lab / load.requests as f64,
        share: lab / busy,
    })
}

/// Reads CPU times, in microseconds since some beginning.
struct Meter {
    cpu: usize,
    processes: Vec<i32>,
}

impl Meter {
    /// Of all that runs in the lab now, and of the children of this process that have ended.
    fn new(rig: &Rig<'_>, cpu: usize) -> anyhow::Result<Self> {
        let mut processes = rig.processes();
        // Packets that came faster than they could be handled at once are handled by it.
        processes.push(soft_interrupts(cpu)?);
        Ok(Self { cpu, processes })
    }

    /// The lab's.
    fn lab(&self) -> anyhow::Result<f64> {
        let ended = getrusage(UsageWho::RUSAGE_CHILDREN)?;
        let mut sum = (ended.user_time() + ended.system_time()).num_microseconds() as f64;
        for process in &self.processes {
            sum += of_process(*process)?;
        }
        Ok(sum)
    }

    /// All that the CPU has spent on anything, as the ticks of its clock saw it.
    fn busy(&self) -> anyhow::Result<f64> {
        let stat = fs::read_to_string("/proc/stat")?;
        let name = format!("cpu{} ", self.cpu);
        let line = stat.lines().find_map(|line| line.strip_prefix(&name));
        let line = line.context("/proc/stat names this CPU")?;
        // user nice system idle iowait irq softirq
        let ticks: Vec<u64> = line.split(' ').map(str::parse).collect::<Result<_, _>>()?;
        let busy = ticks[..3].iter().chain(&ticks[5..7]).sum::<u64>() as f64;
        let per_second = sysconf(SysconfVar::CLK_TCK)?.context("a clock tick")?;
        Ok(busy * 1e6 / per_second as f64)
    }
}

/// What all threads of a process have run, in microseconds.
fn of_process(process: i32) -> anyhow::Result<f64> {
    let mut sum = 0.0;
    let tasks = format!("/proc/{process}/task");
    for task in fs::read_dir(&tasks).context(tasks)? {
        // A thread may end meanwhile; those that do the work do not.
        if let Ok(text) = fs::read_to_string(task?.path().join("schedstat")) {
            let nanoseconds = text.split(' ').next().context("schedstat")?;
            sum += nanoseconds.parse::<f64>()? / 1e3;
        }
    }
    Ok(sum)
}

/// The id of the kernel's thread for soft interrupts of a CPU.
fn soft_interrupts(cpu: usize) -> anyhow::Result<i32> {
    let name = format!("ksoftirqd/{cpu}");
    let is_it = |path: &Path| {
        fs::read_to_string(path.join("comm")).is_ok_and(|comm| comm.trim_end() == name)
    };
    let process = fs::read_dir("/proc")?
        .flatten()
        .find(|entry| is_it(&entry.path()))
        .with_context(|| {
            format!("{name} is not to be seen in /proc: run this outside of a container")
        })?;
    let id = process.file_name();
    Ok(id.to_string_lossy().parse()?)
}
