//! What HTTP knows of the engine: a queue of commands in, a queue of messages out.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::engine::{Request, Token};

/// Names a choice that was asked for.
pub(super) type Ticket = u64;

/// What the engine's thread is told between two steps.
#[derive(Debug)]
pub(super) enum Command {
    /// Requests that are taken or refused together.
    Submit { choices: Vec<(Ticket, Request)>, messages: UnboundedSender<(usize, Message)> },
    /// Nobody waits for this choice any more.
    Cancel(Ticket),
    /// Forget remembered prefixes.
    ForgetPrefixes,
    /// Answer what is there, and end.
    End,
    /// End at once.
    Abort,
}

/// What becomes of a choice.
#[derive(Debug)]
pub(super) enum Message {
    /// It has left the queue.
    Started,
    /// It has one more token.
    Token(Token),
    /// It is not answered.
    Refused(Refusal),
}

/// Why a choice is not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The model cannot run it.
    Invalid(String),
    /// Too many wait.
    Full(String),
    /// It waited too long.
    Late(String),
    /// The server ends.
    Ending,
}

/// The engine, for HTTP.
#[derive(Clone, Debug)]
pub struct Handle {
    commands: Sender<Command>,
    tickets: Arc<AtomicU64>,
    ready: Arc<AtomicBool>,
}

/// The engine's side of a handle.
#[derive(Debug)]
pub struct Commands {
    pub(super) receiver: Receiver<Command>,
    pub(super) ready: Arc<AtomicBool>,
}

/// The messages of some choices. Choices of which nobody wants more are cancelled when this goes.
#[derive(Debug)]
pub(super) struct Submitted {
    messages: UnboundedReceiver<(usize, Message)>,
    tickets: Vec<Option<Ticket>>,
    commands: Sender<Command>,
}

/// Both ends of the queue to an engine.
pub fn engine_handle() -> (Handle, Commands) {
    let (commands, receiver) = mpsc::channel();
    let ready = Arc::new(AtomicBool::new(false));
    let handle = Handle { commands, tickets: Arc::default(), ready: Arc::clone(&ready) };
    (handle, Commands { receiver, ready })
}

impl Handle {
    /// Whether the engine has warmed up and not ended.
    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// Asks for some choices.
    pub(super) fn submit(&self, requests: Vec<Request>) -> Submitted {
        let (sender, messages) = unbounded_channel();
        let first = self.tickets.fetch_add(requests.len() as u64, Ordering::Relaxed);
        let choices: Vec<(Ticket, Request)> = (first..).zip(requests).collect();
        let tickets = choices.iter().map(|(ticket, _)| Some(*ticket)).collect();
        let submit = Command::Submit { choices, messages: sender };
        // An engine that has ended drops the sender: the messages end, and that is told as its ending.
        let _ = self.commands.send(submit);
        Submitted { messages, tickets, commands: self.commands.clone() }
    }

    /// Forgets remembered prefixes.
    pub(super) fn forget_prefixes(&self) {
        let _ = self.commands.send(Command::ForgetPrefixes);
    }

    /// Lets the engine end when it has answered what is there.
    pub fn end(&self) {
        let _ = self.commands.send(Command::End);
    }

    /// Lets the engine end at once.
    pub fn abort(&self) {
        let _ = self.commands.send(Command::Abort);
    }
}

impl Submitted {
    /// The next message, and whose it is.
    pub(super) async fn next(&mut self) -> (usize, Message) {
        let message = self.messages.recv().await;
        message.unwrap_or((0, Message::Refused(Refusal::Ending)))
    }

    /// A choice has all its tokens.
    pub(super) fn ended(&mut self, choice: usize) {
        self.tickets[choice] = None;
    }

    /// Nobody wants more of a choice.
    pub(super) fn cancel(&mut self, choice: usize) {
        if let Some(ticket) = self.tickets[choice].take() {
            let _ = self.commands.send(Command::Cancel(ticket));
        }
    }

    /// How many choices have not ended.
    pub(super) fn open(&self) -> usize {
        self.tickets.iter().flatten().count()
    }
}

impl Drop for Submitted {
    fn drop(&mut self) {
        (0..self.tickets.len()).for_each(|choice| self.cancel(choice));
    }
}
