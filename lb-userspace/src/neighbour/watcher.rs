use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    time::Duration,
};

use anyhow::Context as _;
use rtnetlink::packet_route::neighbour::NeighbourState;
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
    time::{self, MissedTickBehavior},
};

use super::{
    Way,
    kernel::{Events, Kernel},
    way::{Facts, Neighbour, nudge},
};
use crate::{
    model::Destination,
    refusal::{Refusal, host::no_netlink, reason},
};

/// How often everything is looked at without an event, and what is unknown or doubtful asked for
/// again.
const REFRESH: Duration = Duration::from_secs(5);
/// Changes come in groups; this long after the first they are looked at together.
const SETTLE: Duration = Duration::from_millis(20);
/// How long the kernel may take to answer, and how long to wait before it is tried again.
const PATIENCE: Duration = Duration::from_secs(2);

/// What is watched, each with the number of the call that added it.
type Watched = BTreeMap<Destination, u64>;

/// Watches the ways to backends. Dropping it ends that.
#[derive(Debug)]
pub struct Neighbours {
    watched: watch::Sender<Watched>,
    /// How often the destinations were set.
    calls: u64,
    task: JoinHandle<()>,
}

impl Neighbours {
    /// Begins to watch, in the present network namespace, from an edge with these interfaces. The
    /// way to a destination is sent once when it is first known, and then whenever it changes.
    ///
    /// # Errors
    /// When one of them is not there, with the names of those that are; when it is none that the packet program
    /// can serve; when the kernel can not be asked.
    pub async fn start(
        interfaces: &[String],
        changes: mpsc::Sender<(Destination, Way)>,
    ) -> Result<Self, Refusal> {
        let kernel = Kernel::open().map_err(no_netlink)?;
        let events = Events::subscribe().map_err(no_netlink)?;
        let links = kernel.links().await;
        let links = links.map_err(|error| no_netlink(reason(&error)))?;
        interfaces.iter().try_for_each(|name| links.check(name))?;
        let (sender, watched) = watch::channel(Watched::new());
        let watcher = Watcher {
            interfaces: interfaces.to_owned(),
            watched,
            changes,
            known: BTreeMap::new(),
            next_hops: BTreeSet::new(),
        };
        Ok(Self {
            watched: sender,
            calls: 0,
            task: tokio::spawn(watcher.run(kernel, events)),
        })
    }

    /// Sets the destinations to watch. What was sent of those that were watched until now is not
    /// repeated; the way to a new one is sent, also if it was watched before the last call.
    pub fn watch(&mut self, destinations: BTreeSet<Destination>) {
        self.calls += 1;
        self.watched.send_modify(|watched| {
            watched.retain(|to, _| destinations.contains(to));
            for to in destinations {
                watched.entry(to).or_insert(self.calls);
            }
        });
    }
}

impl Drop for Neighbours {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Watcher {
    interfaces: Vec<String>,
    watched: watch::Receiver<Watched>,
    changes: mpsc::Sender<(Destination, Way)>,
    /// What was sent last of everything that is watched.
    known: BTreeMap<Destination, Known>,
    /// Whose neighbour entries the ways depended on at the last look.
    next_hops: BTreeSet<IpAddr>,
}

/// A way that was sent.
struct Known {
    /// The call since which it is watched.
    since: u64,
    /// Whom it hands packets to.
    next_hop: Option<(u32, IpAddr)>,
    way: Way,
}

/// A way that is other than what was sent.
type Changes = Vec<(Destination, Known)>;

/// Nobody is interested any more.
struct Unwatched;

impl Watcher {
    async fn run(mut self, mut kernel: Kernel, mut events: Events) {
        while let Err(error) = self.follow(&kernel, &mut events).await {
            tracing::warn!("neighbours are not watched: {error:#}");
            (kernel, events) = loop {
                time::sleep(PATIENCE).await;
                match (Kernel::open(), Events::subscribe()) {
                    (Ok(kernel), Ok(events)) => break (kernel, events),
                    (Err(error), _) | (_, Err(error)) => {
                        tracing::warn!("neighbours are not watched: {error:#}");
                    }
                }
            };
        }
    }

    /// Returns when nobody is interested any more, or with an error of the connection.
    async fn follow(&mut self, kernel: &Kernel, events: &mut Events) -> anyhow::Result<()> {
        let mut refresh = time::interval(REFRESH);
        refresh.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let in_turn = tokio::select! {
                changed = self.watched.changed() => match changed {
                    Ok(()) => false,
                    Err(_) => return Ok(()),
                },
                event = events.next(&self.next_hops) => {
                    event?;
                    time::sleep(SETTLE).await;
                    events.skip_waiting();
                    false
                }
                _ = refresh.tick() => true,
            };
            let watched = self.watched.borrow_and_update().clone();
            self.known
                .retain(|to, known| watched.get(to) == Some(&known.since));
            let changes = time::timeout(PATIENCE, self.look(kernel, &watched, in_turn))
                .await
                .context("the kernel does not answer")??;
            if let Err(Unwatched) = self.tell(changes).await {
                return Ok(());
            }
        }
    }

    /// The ways that have changed.
    ///
    /// It nudges the kernel at once about what is missing or doubtful, but about what has failed
    /// only when that is new, and in turn: a dead backend is not asked for without a pause.
    async fn look(
        &mut self,
        kernel: &Kernel,
        watched: &Watched,
        in_turn: bool,
    ) -> anyhow::Result<Changes> {
        let links = kernel.links().await?;
        let of_the_edge = |index| links.exit(index, &self.interfaces).is_some();
        let neighbours = kernel.neighbours(of_the_edge).await?;
        let mut changes = Changes::new();
        let (mut next_hops, mut wanted) = (BTreeSet::new(), BTreeSet::new());
        for (&to, &since) in watched {
            let route = kernel.route(to.address).await?;
            let next_hop = route.next_hop(to.address);
            let neighbour = next_hop.and_then(|it| neighbours.get(&it).copied());
            let before = self.known.get(&to);
            let way = Facts {
                to,
                interfaces: &self.interfaces,
                links: &links,
                route: &route,
                neighbour,
                known: before
                    .filter(|known| known.next_hop == next_hop)
                    .and_then(|known| known.way.next_hop()),
            }
            .way();
            let changed = before.is_none_or(|known| known.way != way);
            next_hops.extend(next_hop.map(|(_, address)| address));
            if !matches!(way, Way::Refused(_)) && (changed || in_turn || !failed(neighbour)) {
                wanted.extend(next_hop);
            }
            if changed {
                let known = Known {
                    since,
                    next_hop,
                    way,
                };
                changes.push((to, known));
            } else if let Some(known) = self.known.get_mut(&to) {
                known.next_hop = next_hop;
            }
        }
        self.next_hops = next_hops;
        for next_hop in wanted {
            ask(kernel, next_hop, neighbours.get(&next_hop).copied()).await;
        }
        Ok(changes)
    }

    async fn tell(&mut self, changes: Changes) -> Result<(), Unwatched> {
        for (to, known) in changes {
            let sent = self.changes.send((to, known.way.clone())).await;
            sent.map_err(|_gone| Unwatched)?;
            self.known.insert(to, known);
        }
        Ok(())
    }
}

/// Nudges the kernel about a neighbour that it does not know for sure.
async fn ask(kernel: &Kernel, (on, address): (u32, IpAddr), neighbour: Option<Neighbour>) {
    if let Some(nudge) = nudge(neighbour)
        && let Err(error) = kernel.nudge(on, address, nudge).await
    {
        // The entry may have changed meanwhile; that is an event of its own.
        tracing::debug!(%address, "not asked for: {error}");
    }
}

fn failed(neighbour: Option<Neighbour>) -> bool {
    neighbour.is_some_and(|neighbour| neighbour.state == NeighbourState::Failed)
}

#[cfg(test)]
mod tests {
    use futures_util::{StreamExt as _, stream};
    use rtnetlink::{
        packet_core::{NetlinkHeader, NetlinkMessage, NetlinkPayload},
        packet_route::{RouteNetlinkMessage, route::RouteMessage},
    };
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn a_burst_of_changes_is_looked_at_together() {
        const BURST: u32 = 500;
        let route = RouteNetlinkMessage::NewRoute(RouteMessage::default());
        let payload = NetlinkPayload::InnerMessage(route);
        let change = NetlinkMessage::new(NetlinkHeader::default(), payload);
        let (all_taken, taken) = oneshot::channel();
        let last = change.clone();
        let last = stream::once(async move {
            all_taken.send(()).unwrap();
            last
        });
        let burst = stream::iter(vec![change; BURST as usize - 1]).chain(last);
        let events = Events::of(burst.chain(stream::pending()).boxed());

        let (_destinations, watched) = watch::channel(Watched::new());
        let (changes, _ways) = mpsc::channel(1);
        let watcher = Watcher {
            interfaces: vec!["lo".to_owned()],
            watched,
            changes,
            known: BTreeMap::new(),
            next_hops: BTreeSet::new(),
        };
        // A look at each of them alone takes at least `SETTLE`.
        let together = time::timeout(SETTLE * BURST / 2, taken);
        tokio::select! {
            () = watcher.run(Kernel::open().unwrap(), events) => panic!("the watcher ended"),
            taken = together => taken.expect("one by one").unwrap(),
        }
    }
}
