//! Measures the phases of a run: wall time, and how many cores were busy meanwhile. Reads clocks only if it is enabled.

use std::time::{Duration, Instant};

/// A phase and how long it took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phase {
    /// Name.
    pub name: &'static str,
    /// Wall time.
    pub time: Duration,
    /// Processor time of all threads, where the system reports it. Nothing for parts that run at the same time as others.
    pub processor: Option<Duration>,
    /// Its parts.
    pub parts: Vec<Phase>,
}

impl Phase {
    /// How many cores were busy on average.
    pub fn busy_cores(&self) -> Option<f64> {
        let time = self.time.as_secs_f64();
        self.processor.filter(|_| time > 0.0).map(|p| p.as_secs_f64() / time)
    }
}

/// Measures phases that follow each other.
#[derive(Debug)]
pub struct Stopwatch {
    last: Option<(Instant, Option<Duration>)>,
    phases: Vec<Phase>,
}

impl Stopwatch {
    /// A running stopwatch, or a disabled one.
    pub fn new(is_enabled: bool) -> Self {
        Stopwatch {
            last: is_enabled.then(now),
            phases: Vec::new(),
        }
    }

    /// Ends a phase.
    pub fn lap(&mut self, name: &'static str) {
        self.lap_with(name, Vec::new());
    }

    /// Ends a phase whose parts were measured on their own.
    pub fn lap_with(&mut self, name: &'static str, parts: Vec<Phase>) {
        let Some((wall, processor)) = self.last else { return };
        let (wall_now, processor_now) = now();
        self.phases.push(Phase {
            name,
            time: wall_now.saturating_duration_since(wall),
            processor: processor_now.zip(processor).map(|(later, earlier)| later.saturating_sub(earlier)),
            parts,
        });
        self.last = Some((wall_now, processor_now));
    }

    /// Runs one of several parts of a phase that run at the same time, and measures it.
    pub fn part<R>(is_enabled: bool, name: &'static str, work: impl FnOnce() -> R) -> (R, Option<Phase>) {
        let start = is_enabled.then(Instant::now);
        let result = work();
        let phase = start.map(|start| Phase {
            name,
            time: start.elapsed(),
            processor: None,
            parts: Vec::new(),
        });
        (result, phase)
    }

    /// The measured phases.
    pub fn phases(&self) -> &[Phase] {
        &self.phases
    }

    /// The measured phases.
    pub fn into_phases(self) -> Vec<Phase> {
        self.phases
    }
}

fn now() -> (Instant, Option<Duration>) {
    (Instant::now(), processor_time())
}

/// Processor time of this process so far.
#[cfg(unix)]
fn processor_time() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(time).ok()
}

/// Other systems have other ways, which nobody has asked for.
#[cfg(not(unix))]
fn processor_time() -> Option<Duration> {
    None
}

#[cfg(test)]
mod tests {
    use super::{Duration, Phase, Stopwatch};

    #[test]
    fn a_disabled_stopwatch_has_no_phases() {
        let names = |is_enabled| {
            let mut watch = Stopwatch::new(is_enabled);
            watch.lap("merge");
            watch.lap("emit");
            watch.into_phases().iter().map(|p| p.name).collect::<Vec<_>>()
        };
        assert!(names(false).is_empty());
        assert_eq!(names(true), ["merge", "emit"]);
        assert_eq!(Stopwatch::part(false, "a", || 1), (1, None));
        assert_eq!(Stopwatch::part(true, "a", || 1).1.map(|p| p.name), Some("a"));
    }

    #[test]
    fn busy_cores_are_processor_time_over_wall_time() {
        let phase = |time, processor| Phase {
            name: "merge",
            time: Duration::from_millis(time),
            processor: Some(Duration::from_millis(processor)),
            parts: Vec::new(),
        };
        assert_eq!(phase(10, 40).busy_cores(), Some(4.0));
        assert_eq!(phase(0, 40).busy_cores(), None);
    }
}
