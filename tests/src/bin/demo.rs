//! The demo: two clients, an edge and three backends, each a host in the lab; real traffic, the real
//! daemon, and what happens when things break. Every step checks what it shows.

use std::{net::SocketAddrV4, process::ExitCode, time::Duration};

use lb_tests::lab::{
    DEADLINE, Daemon, Lab, SERVICE, ServerProcess, Settings, Topology, Traffic,
    client::{Connection, connect_many},
    now,
    traffic::Record,
    wait_until,
};
use serde_json::Value;

/// What the clients connect to.
const WEB: SocketAddrV4 = SocketAddrV4::new(SERVICE, 80);

const TABLES: &str = r#"
[[backend]]
name = "a"
address = "198.51.100.101"
[[backend]]
name = "b"
address = "198.51.100.102"
[[backend]]
name = "c"
address = "198.51.100.103"

[[group]]
name = "web"
policy = "front-door"
latency_window = "100ms"
member = [
    { backend = "a", priority = 1, weight = 3 },
    { backend = "b", priority = 1, weight = 7 },
    { backend = "c", priority = 2 },
]
[group.probe]
kind = "http"
path = "/healthz"
interval = "200ms"
timeout = "200ms"
health = { window = 4, required = 2 }

[[service]]
name = "web"
address = "203.0.113.10"
protocol = "tcp"
port = 80
group = "web"
"#;

/// A rule of the service, which is the last table, and the group that it names.
const OFFICE: &str = r#"
rule = [{ clients = ["192.0.2.0/24"], group = "office" }]

[[group]]
name = "office"
member = [{ backend = "c" }]
[group.probe]
kind = "http"
path = "/healthz"
port = 80
interval = "200ms"
timeout = "200ms"
health = { window = 4, required = 2 }
"#;

/// Hosts, servers and the daemon.
struct Stage<'lab> {
    lab: &'lab Lab,
    servers: Vec<ServerProcess>,
    daemon: Daemon<'lab>,
}

/// A step: what it shows, and the work that shows it or says what did not hold.
type Step = (&'static str, fn(&mut Stage<'_>) -> Result<String, String>);

const STEPS: [Step; 7] = [
    ("the decision and its shares", decision),
    ("2,000 connections against the expected 3:7", split),
    ("b is killed under traffic", death),
    ("b comes back", revival),
    ("b is drained while a download from it runs", drain),
    (
        "one of two client networks moves to another group, under traffic",
        relocation,
    ),
    (
        "the daemon is killed (kill -9) under traffic, and started again",
        restart,
    ),
];

fn main() -> ExitCode {
    let begin = now();
    println!("two clients, an edge and three backends, each in a network namespace of its own:");
    println!(
        "  clients 198.51.100.11 and 192.0.2.11, the latter behind a router;  edge 198.51.100.1"
    );
    println!("  backends a, b, c 198.51.100.101-103;  service {SERVICE}:80");
    let lab = Lab::new(Topology {
        backends: 3,
        far_clients: 1,
        ..Topology::default()
    });
    let servers = ["a", "b", "c"].iter().zip(&lab.backends);
    let servers = servers
        .map(|(name, host)| ServerProcess::start(host, name, 80))
        .collect();
    let settings = Settings {
        rest: TABLES,
        ..Settings::default()
    };
    let daemon = Daemon::start(lab.edge(), settings);
    let mut stage = Stage {
        lab: &lab,
        servers,
        daemon,
    };
    let mut held = 0;
    for (number, (title, step)) in STEPS.iter().enumerate() {
        println!("\n{}. {title}", number + 1);
        match step(&mut stage) {
            Ok(said) => {
                held += 1;
                println!("   held: {said}");
            }
            Err(said) => println!("   DID NOT HOLD: {said}"),
        }
    }
    if held < STEPS.len() {
        println!("\nthe daemon's log:\n{}", stage.daemon.log());
    }
    drop(stage);
    drop(lab);
    let took = begin.elapsed().as_secs_f64();
    println!(
        "\ndemo: {held} of {} steps held, in {took:.1} s; all hosts are removed",
        STEPS.len()
    );
    if held == STEPS.len() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn decision(stage: &mut Stage<'_>) -> Result<String, String> {
    let took = stage.wait_health(&[("a", "up"), ("b", "up"), ("c", "up")]);
    let said = stage.waggle(&["explain", "--service", "web", "--client", "198.51.100.11"])?;
    print!("{}", indent(&said));
    let shares = ["a", "b", "c"].map(|name| stage.member(name)["share"].clone());
    ensure(shares == ["3/10", "7/10", "0"], || {
        format!(
            "a 3/10 and b 7/10, c in reserve; a {} b {} c {}",
            shares[0], shares[1], shares[2]
        )
    })?;
    Ok(format!(
        "served {:.1} s after the daemon listened, a 3/10, b 7/10, c in reserve",
        took.as_secs_f64()
    ))
}

fn split(stage: &mut Stage<'_>) -> Result<String, String> {
    let tally = connect_many(stage.lab.client(), WEB, 2000);
    for (name, expected) in [("a", 30.0), ("b", 70.0), ("c", 0.0)] {
        let got = tally.answers.get(name).copied().unwrap_or(0);
        println!(
            "   {name}  {got:5} requests  {:5.1} %  expected {expected:4.1} %",
            tally.share(name) * 100.0
        );
    }
    ensure(tally.errors.is_empty(), || {
        format!(
            "{} connections failed: {:?}",
            tally.errors.len(),
            tally.errors.first()
        )
    })?;
    let off = (tally.share("a") - 0.3).abs() * 100.0;
    ensure(off < 4.0, || format!("a is {off:.1} points off"))?;
    Ok(format!("{off:.1} points off, no connection failed"))
}

fn death(stage: &mut Stage<'_>) -> Result<String, String> {
    let traffic = Traffic::start(stage.lab.client(), WEB);
    traffic.run_for(Duration::from_millis(300));
    let killed = now();
    stage.servers[1].kill9();
    stage.wait_health(&[("b", "down")]);
    let detected = killed.elapsed();
    traffic.run_for(Duration::from_millis(700));
    let record = traffic.stop();
    print!("{}", indent(&stage.waggle(&["status", "group"])?));
    let last = record
        .last_failure()
        .map_or(Duration::ZERO, |at| at.saturating_duration_since(killed));
    let failed = record.errors().len();
    let since = record.after(killed + last);
    let answered = since.answers();
    println!(
        "   seen down after {:.2} s, last request to it after {:.2} s, {failed} requests failed until then",
        detected.as_secs_f64(),
        last.as_secs_f64()
    );
    ensure(failed > 0, || {
        "no request met the dead backend, so nothing was shown".into()
    })?;
    ensure(last <= detected + Duration::from_millis(300), || {
        "requests failed after detection".into()
    })?;
    ensure(answered.keys().eq([&"a"]), || {
        format!("then answered: {answered:?}")
    })?;
    Ok(format!(
        "then {} requests, all answered by a",
        answered["a"]
    ))
}

fn revival(stage: &mut Stage<'_>) -> Result<String, String> {
    let traffic = Traffic::start(stage.lab.client(), WEB);
    let started = now();
    stage.servers[1] = ServerProcess::start(&stage.lab.backends[1], "b", 80);
    stage.wait_health(&[("b", "up")]);
    traffic.run_for(Duration::from_millis(700));
    let record = traffic.stop();
    let first = record.first_answer("b").ok_or("b answered nothing")?;
    ensure(record.errors().is_empty(), || {
        format!("{} requests failed", record.errors().len())
    })?;
    Ok(format!(
        "first request to it {:.2} s after its start, no request failed",
        first.saturating_duration_since(started).as_secs_f64()
    ))
}

fn drain(stage: &mut Stage<'_>) -> Result<String, String> {
    const BYTES: u64 = 32 << 20;
    let client = stage.lab.client();
    let download = (0..100).find_map(|_| {
        client.enter(|| {
            let mut connection = Connection::open(WEB, None).ok()?;
            let answer = connection.begin(BYTES).ok()?;
            (answer.backend == "b").then_some(connection)
        })
    });
    let mut download = download.ok_or("no connection led to b")?;
    download
        .read(BYTES / 4)
        .map_err(|error| error.to_string())?;
    print!("{}", indent(&stage.waggle(&["backend", "drain", "b"])?));
    let tally = connect_many(client, WEB, 500);
    download
        .finish()
        .map_err(|error| format!("the download broke: {error}"))?;
    print!("{}", indent(&stage.waggle(&["backend", "enable", "b"])?));
    ensure(tally.errors.is_empty() && tally.share("a") == 1.0, || {
        format!("{tally:?}")
    })?;
    Ok(format!(
        "500 new connections to a, none to b; the download of {} MiB ended byte for byte",
        BYTES >> 20
    ))
}

fn relocation(stage: &mut Stage<'_>) -> Result<String, String> {
    let (near, far) = (stage.lab.client(), &stage.lab.far_clients[0]);
    let traffic = [near, far].map(|client| Traffic::start(client, WEB));
    traffic[0].run_for(Duration::from_millis(300));
    let before = traffic.each_ref().map(Traffic::record);
    show_both(&before);
    println!(
        "   in the file now: {}",
        OFFICE.lines().nth(1).unwrap_or_default()
    );
    let rest = &format!("{TABLES}{OFFICE}");
    let settings = Settings {
        rest,
        ..Settings::default()
    };
    stage.daemon.configure(settings);
    let begin = now();
    print!("{}", indent(&stage.waggle(&["reload"])?));
    wait_until(DEADLINE, "an answer by c", || {
        traffic[1].record().first_answer("c").is_some()
    });
    let moved = now();
    traffic[0].run_for(Duration::from_millis(500));
    let records = traffic.map(Traffic::stop);
    let since = records.each_ref().map(|record| record.after(moved));
    show_both(&since);
    let failed: Vec<_> = records.iter().flat_map(Record::errors).collect();
    ensure(failed.is_empty(), || {
        format!("{} requests failed: {:?}", failed.len(), failed.first())
    })?;
    let by = |record: &Record| {
        record
            .answers()
            .into_keys()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let expected = [["a", "b"].as_slice(), &["a", "b"], &["a", "b"], &["c"]];
    let answering = [&before[0], &before[1], &since[0], &since[1]].map(by);
    ensure(answering == expected, || format!("answered: {answering:?}"))?;
    Ok(format!(
        "moved {:.2} s after the command, no request of either network failed",
        (moved - begin).as_secs_f64()
    ))
}

/// How many requests of each client each backend has answered.
fn show_both(records: &[Record; 2]) {
    for (client, record) in ["198.51.100.11", "192.0.2.11"].iter().zip(records) {
        let answers = record.answers();
        let answers: Vec<_> = answers
            .iter()
            .map(|(name, count)| format!("{name} {count:5}"))
            .collect();
        println!("   from {client:13}  {}", answers.join("  "));
    }
}

fn restart(stage: &mut Stage<'_>) -> Result<String, String> {
    let traffic = Traffic::start(stage.lab.client(), WEB);
    traffic.run_for(Duration::from_millis(300));
    stage.daemon.kill9();
    println!("   killed; packets go on by the tables in the kernel");
    traffic.run_for(Duration::from_millis(500));
    stage.daemon.restart();
    stage.wait_health(&[("a", "up"), ("b", "up"), ("c", "up")]);
    traffic.run_for(Duration::from_millis(500));
    let record = traffic.stop();
    ensure(record.errors().is_empty(), || {
        format!("{} requests failed", record.errors().len())
    })?;
    Ok(format!(
        "{} requests, none failed",
        record.answers().values().sum::<usize>()
    ))
}

impl Stage<'_> {
    fn waggle(&self, arguments: &[&str]) -> Result<String, String> {
        println!("   $ waggle {}", arguments.join(" "));
        let outcome = self.daemon.waggle(arguments);
        ensure(outcome.ok(), || outcome.stderr.clone())?;
        Ok(outcome.stdout)
    }

    fn status(&self) -> Option<Value> {
        let outcome = self.daemon.waggle(&["status", "--format", "json"]);
        serde_json::from_str(&outcome.stdout).ok()
    }

    /// A member of group `web`.
    fn member(&self, backend: &str) -> Value {
        let status = self.status().unwrap_or_default();
        let named = |list: &Value, key: &str, name: &str| {
            let mut all = list.as_array().into_iter().flatten();
            all.find(|it| it[key] == name).cloned().unwrap_or_default()
        };
        let group = named(&status["groups"], "name", "web");
        named(&group["members"], "backend", backend)
    }

    /// Waits until the service is served and the backends have this health.
    fn wait_health(&self, health: &[(&str, &str)]) -> Duration {
        let begin = now();
        wait_until(DEADLINE, &format!("{health:?}"), || {
            self.status()
                .is_some_and(|status| status["services"][0]["published"] == true)
                && health
                    .iter()
                    .all(|(name, health)| self.member(name)["health"] == *health)
        });
        begin.elapsed()
    }
}

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

fn indent(text: &str) -> String {
    text.lines()
        .map(|line| format!("   {line}").trim_end().to_owned() + "\n")
        .collect()
}
