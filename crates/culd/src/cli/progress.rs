//! A line on the terminal about work that takes more than a second: PTX that ptxas compiles, link-time optimization.
//!
//! 1. Only under the name culd, and only if standard error is a terminal that can erase a line (`TERM` is not `dumb`).
//! 2. A thread sleeps for a second, then prints the line twice a second.
//! 3. The line is erased before anything else is printed: when the value is dropped.

use culd_input::progress::{Progress, Step};
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Work that takes less has no line.
const QUIET: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(500);
/// To the start of the line, and erase it.
const ERASE: &str = "\r\x1b[K";

/// The line, as long as the value lives.
#[derive(Debug)]
pub struct ProgressLine {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ProgressLine {
    /// Starts the line for a loader; nothing without a terminal.
    pub fn start(progress: &Arc<Progress>) -> Option<Self> {
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        if is_dumb || !std::io::stderr().is_terminal() {
            return None;
        }
        let (end, ended) = channel();
        let progress = Arc::clone(progress);
        let start = Instant::now();
        let work = move || {
            let mut pause = QUIET;
            let mut has_line = false;
            while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                if let Some(text) = text(progress.now(), start.elapsed()) {
                    has_line = true;
                    put(&format!("{ERASE}{text}"));
                }
                pause = PAUSE;
            }
            if has_line {
                put(ERASE);
            }
        };
        let thread = std::thread::Builder::new().spawn(work).ok()?;
        Some(ProgressLine {
            end: Some(end),
            thread: Some(thread),
        })
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        // The thread ends when the other side of the channel does.
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn put(text: &str) {
    let mut out = std::io::stderr().lock();
    // A terminal that is gone needs no line.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

fn text((step, done, total): (Step, usize, usize), time: Duration) -> Option<String> {
    let what = match step {
        Step::Reading => "reading inputs".to_owned(),
        Step::Unpacking => "unpacking inputs".to_owned(),
        Step::Ptx => format!("compiling PTX, {done} of {total}"),
        Step::Optimizing => "optimizing at link time".to_owned(),
        Step::Done => return None,
    };
    Some(format!("culd: {what}, {} s", time.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_has_step_count_and_time() {
        let time = Duration::from_millis(2500);
        assert_eq!(text((Step::Ptx, 3, 40), time).as_deref(), Some("culd: compiling PTX, 3 of 40, 2 s"));
        assert_eq!(text((Step::Done, 0, 0), time), None);
    }
}
