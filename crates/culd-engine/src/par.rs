//! Parallel execution of independent work, if there is enough of it.

use crate::ids::{Id, PART, Table};
use culd_base::pool;
use rayon::prelude::*;

/// Below this many bytes of work a pool costs more than it saves.
const WORTH_A_POOL: usize = 4 << 20;

/// Threads of one link: only the caller's, or a pool.
#[derive(Clone, Copy, Debug)]
pub struct Threads {
    threads: usize,
    several: bool,
}

impl Threads {
    /// For `bytes` of work and as many threads as were requested (0: all cores). Debug builds use a requested number for any work, so that tests with
    /// small inputs reach the parallel code.
    pub fn new(bytes: usize, threads: usize) -> Self {
        let enough = bytes >= WORTH_A_POOL || (cfg!(debug_assertions) && threads > 1);
        Threads {
            threads,
            several: threads != 1 && enough,
        }
    }

    /// True when several threads work.
    pub fn is_parallel(self) -> bool {
        self.several
    }

    /// How many threads work.
    pub fn count(self) -> usize {
        if self.several { rayon::current_num_threads() } else { 1 }
    }

    /// True when so many threads work that it pays to split what already runs beside something else.
    pub fn are_many(self) -> bool {
        if cfg!(debug_assertions) { self.several } else { self.count() > 3 }
    }

    /// The threads for a part of the work.
    pub fn for_part(self, bytes: usize) -> Self {
        Threads::new(bytes, self.threads)
    }

    /// Runs `work` on a thread of the pool, with a pool of its own if a number of threads was requested: every step that another thread starts
    /// has to wake one of the pool and to wait for it.
    pub fn install<R: Send>(self, work: impl FnOnce() -> R + Send) -> R {
        if !self.several {
            return work();
        }
        if self.threads == 0 {
            pool::grow_heaps();
            return rayon::scope(|_| work());
        }
        match pool::of(self.threads) {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }

    /// Maps every item, in order.
    pub fn map<'t, T: Sync, R: Send>(self, items: &'t [T], work: impl Fn(&'t T) -> R + Sync + Send) -> Vec<R> {
        if self.several && items.len() > 1 {
            items.par_iter().map(work).collect()
        } else {
            items.iter().map(work).collect()
        }
    }

    /// Maps every item and its number, in order. Each takes little time.
    pub fn map_numbered<T: Sync, R: Send>(self, items: &[T], work: impl Fn(usize, &T) -> R + Sync + Send) -> Vec<R> {
        let work = |(n, item)| work(n, item);
        match self.several {
            true => items.par_iter().with_min_len(PART).enumerate().map(work).collect(),
            false => items.iter().enumerate().map(work).collect(),
        }
    }

    /// Maps every item, in order, into a list whose memory is used again.
    pub fn map_into<'t, T: Sync, R: Send>(self, items: &'t [T], work: impl Fn(&'t T) -> R + Sync + Send, results: &mut Vec<R>) {
        if self.several && items.len() > 1 {
            items.par_iter().map(work).collect_into_vec(results);
        } else {
            results.clear();
            results.extend(items.iter().map(work));
        }
    }

    /// What `work` makes of the items, in order; it also gets the number of each item.
    pub fn filter_map<T: Sync, R: Send>(self, items: &[T], work: impl Fn(usize, &T) -> Option<R> + Sync + Send) -> Vec<R> {
        let work = |(n, item)| work(n, item);
        match self.several {
            true => items.par_iter().with_min_len(PART).enumerate().filter_map(work).collect(),
            false => items.iter().enumerate().filter_map(work).collect(),
        }
    }

    /// What `work` makes of consecutive parts of the items, joined.
    pub fn join_parts<T: Sync, R: Clone + Send>(self, items: &[T], size: usize, work: impl Fn(&[T]) -> Vec<R> + Sync + Send) -> Vec<R> {
        match self.several && items.len() > size {
            true => items.par_chunks(size).map(work).collect::<Vec<_>>().concat(),
            false => work(items),
        }
    }

    /// The lists one after the other. With many threads the memory of the result is touched by several: it is filled with `filler` before.
    pub fn concat<T: Clone + Send + Sync>(self, lists: Vec<Vec<T>>, filler: &T) -> Vec<T> {
        let count = lists.iter().map(Vec::len).sum();
        if lists.len() < 2 || !self.are_many() {
            let mut lists = lists.into_iter();
            let mut joined = lists.next().unwrap_or_default();
            joined.reserve_exact(count - joined.len());
            lists.for_each(|mut list| joined.append(&mut list));
            return joined;
        }
        let mut joined = Vec::new();
        joined.par_extend((0..count).into_par_iter().with_min_len(PART).map(|_| filler.clone()));
        let mut rest = joined.as_mut_slice();
        let mut places = Vec::with_capacity(lists.len());
        for list in &lists {
            let (place, tail) = std::mem::take(&mut rest).split_at_mut_checked(list.len()).unwrap_or_default();
            places.push(place);
            rest = tail;
        }
        let moved = lists.into_par_iter().zip(places);
        moved.for_each(|(list, place)| place.iter_mut().zip(list).for_each(|(to, item)| *to = item));
        joined
    }

    /// A table of `len` items. The memory of a large one is touched by several threads: most of the time is the system's, which clears the pages.
    pub fn filled<I: Id, T: Clone + Send + Sync>(self, len: usize, item: T) -> Table<I, T> {
        if !self.several {
            return Table::filled(len, item);
        }
        let mut table = Table::new();
        table.extend_parallel(len, |_| item.clone());
        table
    }

    /// Is `test` true for some item?
    pub fn any<T: Sync>(self, items: &[T], test: impl Fn(&T) -> bool + Sync + Send) -> bool {
        match self.several {
            true => items.par_iter().with_min_len(PART).any(test),
            false => items.iter().any(test),
        }
    }

    /// Runs two closures, in parallel with several threads.
    pub fn join<A: Send, B: Send>(self, a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
        if self.several { rayon::join(a, b) } else { (a(), b()) }
    }
}
