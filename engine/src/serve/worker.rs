//! The thread of the engine: commands between steps, messages after them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedSender;

use super::handle::{Command, Commands, Message, Refusal, Ticket};
use super::metrics::{Metrics, Span};
use crate::engine::{Engine, Event, Request, SubmitError, Token};
use crate::generation::Generation;
use crate::scheduler::RequestId;

/// Owns the engine, and knows who asked for what.
pub struct Worker<'m> {
    engine: Engine<'m>,
    commands: Commands,
    metrics: Arc<Metrics>,
    queue_timeout: Duration,
    asked: HashMap<RequestId, Asked>,
    tickets: HashMap<Ticket, RequestId>,
    /// Requests that have not started.
    queued: Vec<RequestId>,
    ending: bool,
    aborting: bool,
}

/// A choice that is being answered.
struct Asked {
    ticket: Ticket,
    /// Its place among the choices of its request.
    choice: usize,
    messages: UnboundedSender<(usize, Message)>,
    span: Span,
}

impl<'m> Worker<'m> {
    /// A worker that has not begun. A request that waits longer than `queue_timeout` for its first step is refused.
    pub fn new(
        engine: Engine<'m>,
        commands: Commands,
        metrics: Arc<Metrics>,
        queue_timeout: Duration,
    ) -> Self {
        let (asked, tickets, queued) = (HashMap::new(), HashMap::new(), Vec::new());
        let (ending, aborting) = (false, false);
        Self { engine, commands, metrics, queue_timeout, asked, tickets, queued, ending, aborting }
    }

    /// Runs a request of its own, so that all weights have been read and every kernel has run; then requests are ready to be
    /// answered.
    pub fn warm_up(&mut self) {
        let generation = Generation {
            prompt_ids: vec![0; 8.min(self.engine.max_model_len() - 1).max(1)],
            max_tokens: 2.min(self.engine.max_model_len() - 1),
            ignore_eos: true,
            // Such a request asks for no remembered prefix, and is not counted among those that do.
            prompt_logprobs: Some(0),
            ..Generation::default()
        };
        if self.engine.submit(Request { generation, ..Request::default() }).is_ok() {
            while !self.engine.is_idle() {
                self.engine.step();
            }
        }
        self.engine.forget_prefixes();
        self.commands.ready.store(true, Ordering::Release);
    }

    /// Answers until it is told to end, or nobody can ask any more.
    pub fn run(mut self) {
        while !self.aborting {
            if self.engine.is_idle() {
                if self.ending {
                    break;
                }
                match self.commands.receiver.recv() {
                    Ok(command) => self.hear(command),
                    Err(_) => break,
                }
            }
            while let Ok(command) = self.commands.receiver.try_recv() {
                self.hear(command);
            }
            if !self.engine.is_idle() {
                self.step();
            }
        }
        self.commands.ready.store(false, Ordering::Release);
    }

    fn hear(&mut self, command: Command) {
        match command {
            Command::Submit { choices, messages } if self.ending => {
                drop(choices);
                let _ = messages.send((0, Message::Refused(Refusal::Ending)));
            }
            Command::Submit { choices, messages } => self.submit(choices, &messages),
            Command::Cancel(ticket) => {
                if let Some(id) = self.tickets.get(&ticket).copied() {
                    self.forget(id);
                    self.engine.cancel(id);
                }
            }
            Command::ForgetPrefixes => self.engine.forget_prefixes(),
            Command::End => self.ending = true,
            Command::Abort => self.aborting = true,
        }
        self.metrics.set_load(&self.engine.load());
    }

    /// Takes all choices of a request, or none.
    fn submit(
        &mut self,
        choices: Vec<(Ticket, Request)>,
        messages: &UnboundedSender<(usize, Message)>,
    ) {
        let mut taken = Vec::new();
        for (choice, (ticket, request)) in choices.into_iter().enumerate() {
            let span = Span::begin(&request.generation);
            match self.engine.submit(request) {
                Ok(id) => {
                    let messages = messages.clone();
                    self.asked.insert(id, Asked { ticket, choice, messages, span });
                    self.tickets.insert(ticket, id);
                    self.queued.push(id);
                    taken.push(id);
                }
                Err(error) => {
                    for id in taken {
                        self.forget(id);
                        self.engine.cancel(id);
                    }
                    let refusal = match error {
                        SubmitError::Run(error) => Refusal::Invalid(error.to_string()),
                        SubmitError::Full(error) => Refusal::Full(error.to_string()),
                    };
                    let _ = messages.send((choice, Message::Refused(refusal)));
                    return;
                }
            }
        }
    }

    /// Runs a step and tells everybody.
    fn step(&mut self) {
        let begun = Instant::now();
        let events = self.engine.step();
        let now = Instant::now();
        self.metrics.set_load(&self.engine.load());
        self.start_queued(begun);
        let mut tokens = 0;
        for event in events {
            match event {
                Event::Token { id, token } => {
                    tokens += usize::from(token.id.is_some());
                    self.tell(id, token, now);
                }
                Event::Ended { id, generated, .. } => {
                    if let Some(asked) = self.forget(id) {
                        self.metrics.ended(&asked.span, generated.ids.len(), now);
                    }
                }
            }
        }
        self.metrics.stepped(tokens);
    }

    fn tell(&mut self, id: RequestId, token: Token, now: Instant) {
        let Some(asked) = self.asked.get_mut(&id) else { return };
        self.metrics.token(&mut asked.span, now);
        // Whoever does not listen any more will cancel.
        let _ = asked.messages.send((asked.choice, Message::Token(token)));
    }

    /// Tells those that have left the queue with the step that began at `begun`, and refuses those that had waited too long.
    fn start_queued(&mut self, begun: Instant) {
        for id in std::mem::take(&mut self.queued) {
            let waits = self.engine.is_waiting(id);
            let Some(asked) = self.asked.get_mut(&id) else { continue };
            if !waits {
                self.metrics.started(&asked.span, begun);
                let _ = asked.messages.send((asked.choice, Message::Started));
            } else if begun.duration_since(asked.span.arrived) > self.queue_timeout {
                let seconds = self.queue_timeout.as_secs_f64();
                let late = Refusal::Late(format!("the request waited {seconds} s for its turn"));
                let _ = asked.messages.send((asked.choice, Message::Refused(late)));
                self.engine.cancel(id);
                self.forget(id);
            } else {
                self.queued.push(id);
            }
        }
    }

    fn forget(&mut self, id: RequestId) -> Option<Asked> {
        let asked = self.asked.remove(&id)?;
        self.tickets.remove(&asked.ticket);
        Some(asked)
    }
}
