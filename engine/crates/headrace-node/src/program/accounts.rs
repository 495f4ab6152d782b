//! `accounts`: as whom a node would work for somebody.

use clap::Args;
use headrace_core::asker::Asker;
use headrace_core::value::Label;
use serde_json::json;

use super::roots::load;
use super::{Exit, Out, StateArgs};
use crate::accounts::said;
use crate::config::RootConfig;
use crate::problem::{ControlCode, Problem};

#[derive(Args)]
pub(super) struct Accounts {
    /// Name of the root.
    #[arg(long)]
    root: String,
    /// Name of the person, as the issuer has it: for `local` the name here, for a directory the sign-in name in small letters, for a
    /// provider the subject.
    #[arg(long, required_unless_present = "person")]
    name: Option<String>,
    /// Who vouches for the name: `local`, `ad:DOMAIN`, or the URL of the provider.
    #[arg(long, default_value = "local")]
    issuer: String,
    /// The service's id of the person (`pn_...`), where the mapping goes by it.
    #[arg(long)]
    person: Option<String>,
    #[command(flatten)]
    state: StateArgs,
}

impl Accounts {
    pub(super) fn run(self, out: &Out) -> Result<Exit, Problem> {
        let bad = |detail: String| Problem::new(ControlCode::BadArgument, detail);
        let label = |text: String| {
            text.parse::<Label>()
                .map_err(|error| bad(format!("`{text}`: {error}")))
        };
        let (_, config) = load(&self.state)?;
        let mut roots = config.roots.iter();
        let root: Option<&RootConfig> = roots.find(|root| root.name == self.root);
        let root = root.ok_or_else(|| bad(format!("there is no root `{}`", self.root)))?;
        let known_as = self
            .name
            .map_or_else(String::new, |name| format!("{} {name}", self.issuer));
        let asker = Asker::new(&label(self.person.unwrap_or_default())?, &label(known_as)?);
        let account = root.accounts.account_of(&root.name, &asker)?;
        let Some(account) = account else {
            let document = json!({"root": root.name, "account": null});
            let sentence = format!("root `{}` works as the node, whoever asks", root.name);
            out.say(&document, &sentence);
            return Ok(Exit::Done);
        };
        let groups: Vec<u32> = account.groups().collect();
        let document = json!({
            "root": root.name,
            "account": {"name": account.name(), "uid": account.uid(), "gid": account.gid(), "groups": groups},
        });
        let groups: Vec<String> = groups.iter().map(u32::to_string).collect();
        let sentence = format!(
            "for {}, root `{}` works as local account `{}`: uid {}, gid {}, groups {}",
            said(&asker),
            root.name,
            account.name(),
            account.uid(),
            account.gid(),
            groups.join(" ")
        );
        out.say(&document, &sentence);
        Ok(Exit::Done)
    }
}
