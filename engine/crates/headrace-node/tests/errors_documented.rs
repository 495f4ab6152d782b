//! Every code of the engine is on the page that people are sent to.

use std::path::Path;

use headrace_core::code::Code;
use headrace_core::sealed::DocumentError;
use headrace_node::problem::ControlCode;

#[test]
fn every_error_code_is_documented() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/errors-engine.md");
    let page = std::fs::read_to_string(page).expect("docs/errors-engine.md");
    let ours = Code::ALL.iter().map(|code| code.as_str());
    let control = ControlCode::ALL.iter().map(|code| code.as_str());
    for code in ours.chain(control).chain(DocumentError::CODES) {
        assert!(
            page.contains(&format!("| `{code}` |")),
            "`{code}` is not documented"
        );
    }
}

#[test]
fn the_page_gives_the_advice_of_the_code() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/errors-engine.md");
    let page = std::fs::read_to_string(page).expect("docs/errors-engine.md");
    for code in Code::ALL {
        assert!(
            page.contains(code.advice()),
            "the advice for `{code}` is out of date"
        );
    }
}
