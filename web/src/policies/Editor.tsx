/**
 * The editor of policies, and of links, classes and calendars. CodeMirror lives in a shadow root: there it adopts its style sheets, where in the page it would insert
 * style elements, which the content security policy refuses.
 */

import { defaultKeymap, history, historyKeymap, isolateHistory } from "@codemirror/commands";
import { HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { linter, lintGutter } from "@codemirror/lint";
import { MergeView } from "@codemirror/merge";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import { drawSelection, EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useComputedColorScheme } from "@mantine/core";
import { useEffect, useRef } from "react";
import { t } from "../i18n";
import { cedar } from "./cedar-language";
import classes from "./Editor.module.css";
import { Linter } from "./lint";
import { toml } from "./toml-language";

export type Language = "cedar" | "toml";
const LANGUAGES = { cedar, toml };

interface Props {
  label: string;
  language: Language;
  text: string;
  /** Absent: read only. */
  onChange?: (text: string) => void;
  /** Shown beside `text`, with the differences marked. */
  before?: string;
}

export default function Editor({ label, language, text, onChange, before }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const views = useRef<readonly EditorView[]>([]);
  const latest = useRef({ text, onChange });
  const dark = useComputedColorScheme() === "dark";
  const look = useRef(dark);
  const editable = onChange !== undefined;
  useEffect(() => {
    latest.current = { text, onChange };
    // What is put in from outside is one more change of the same text, which can be undone.
    if (onChange !== undefined) for (const view of views.current) replace(view, text);
  }, [text, onChange]);
  useEffect(() => {
    look.current = dark;
    for (const view of views.current) view.dispatch({ effects: LOOK.reconfigure(appearance(dark)) });
  }, [dark]);
  // A read-only view follows its text; an editor keeps what is typed.
  const shown = editable ? null : text;
  useEffect(() => {
    const holder = box.current;
    if (holder === null) return;
    const root = holder.shadowRoot ?? holder.attachShadow({ mode: "open" });
    const place = document.createElement("div");
    root.replaceChildren(place);
    const doc = shown ?? latest.current.text;
    const base = [StreamLanguage.define(LANGUAGES[language]), EditorView.contentAttributes.of({ "aria-label": label }), LOOK.of(appearance(look.current))];
    if (before !== undefined) {
      const fixed = [base, EditorState.readOnly.of(true)];
      const view = new MergeView({
        parent: place,
        root,
        a: { doc: before, extensions: fixed },
        b: { doc, extensions: fixed },
        collapseUnchanged: { margin: 3, minSize: 6 },
      });
      views.current = [view.a, view.b];
      return () => view.destroy();
    }
    if (!editable) {
      const view = new EditorView({ parent: place, root, doc, extensions: [base, EditorState.readOnly.of(true)] });
      views.current = [view];
      return () => view.destroy();
    }
    const checks = language === "cedar" ? new Linter() : null;
    const lints = checks === null ? [] : linting(checks);
    const view = new EditorView({ parent: place, root, doc, extensions: [base, lints, editing((next) => latest.current.onChange?.(next))] });
    views.current = [view];
    return () => {
      checks?.close();
      view.destroy();
    };
  }, [label, language, editable, shown, before]);
  return <div ref={box} className={classes.editor} />;
}

/** Makes the document `text`, changing only what differs. */
function replace(view: EditorView, text: string): void {
  const old = view.state.doc.toString();
  if (old === text) return;
  let from = 0;
  while (from < old.length && from < text.length && old[from] === text[from]) from += 1;
  view.dispatch({ changes: { from, to: old.length, insert: text.slice(from) }, annotations: isolateHistory.of("full") });
}

/** Colours follow the theme without making the editor anew: its undo history stays. */
const LOOK = new Compartment();

function editing(told: (text: string) => void): Extension {
  return [
    history(),
    keymap.of([...defaultKeymap, ...historyKeymap]),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) told(update.state.doc.toString());
    }),
  ];
}

function linting(checks: Linter): Extension {
  return [
    lintGutter(),
    linter(
      async (view) => {
        const text = view.state.doc.toString();
        const most = view.state.doc.length;
        return (await checks.lint(text)).map(({ from, to, severity, message, rule }) => ({
          from: Math.min(from, most),
          to: Math.min(to, most),
          severity,
          message: rule === null ? message : t("policy.finding", { rule, message }),
        }));
      },
      { delay: 400 },
    ),
  ];
}

function appearance(dark: boolean): Extension {
  const style = HighlightStyle.define([
    { tag: tags.keyword, color: dark ? "#75b9d6" : "#0a6086", fontWeight: "600" },
    { tag: tags.string, color: dark ? "#8ce99a" : "#1e6a2d" },
    { tag: tags.comment, color: dark ? "#9aa5b0" : "#545c65", fontStyle: "italic" },
    { tag: tags.annotation, color: dark ? "#c5b3ff" : "#5a33b8" },
    { tag: tags.number, color: dark ? "#ffc078" : "#8f3d05" },
  ]);
  return [
    syntaxHighlighting(style),
    lineNumbers(),
    drawSelection(),
    EditorView.lineWrapping,
    EditorView.theme(
      {
        "&": { fontSize: "13px", color: dark ? "#d8dee4" : "#1b1f23" },
        ".cm-gutters": { background: "transparent", color: dark ? "#9aa5b0" : "#545c65", border: "none" },
        ".cm-content": { caretColor: dark ? "#fff" : "#000" },
        ".cm-scroller": { fontFamily: "ui-monospace, Menlo, Consolas, 'Liberation Mono', monospace", lineHeight: "1.5" },
        ".cm-collapsedLines:before, .cm-collapsedLines:after": { content: "'…'" },
        ".cm-activeLine": { background: "transparent" },
        ".cm-tooltip": { background: dark ? "#242b31" : "#fff", color: "inherit" },
      },
      { dark },
    ),
  ];
}
