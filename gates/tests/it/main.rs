//! `gate` from outside: its command line, its runs against a live oracle, its specs.

#[cfg(test)]
mod alone;
#[cfg(test)]
mod cli;
#[cfg(test)]
mod consistency;
#[cfg(test)]
mod crossed;
#[cfg(test)]
mod fickle;
#[cfg(test)]
mod goldens;
#[cfg(test)]
mod honesty;
#[cfg(test)]
mod inside;
#[cfg(test)]
mod judge;
#[cfg(test)]
mod killed;
#[cfg(test)]
mod live;
#[cfg(test)]
mod recheck;
#[cfg(test)]
mod record_store;
#[cfg(test)]
mod review;
#[cfg(test)]
mod specs;
#[cfg(test)]
mod support;
