/** The words bar: what was typed, which word became what, what is asked back, what is refused. It never executes. */

import { Button, Code, Pill, Text, Textarea, TextInput } from "@mantine/core";
import { IconBan, IconHelpCircle } from "@tabler/icons-react";
import { useState, type ReactNode } from "react";
import type { Interpretation, Question, Refusal, Span } from "../api/schema";
import { visible } from "../format/text";
import { useZone } from "../format/time";
import { t, tData } from "../i18n";
import { Prose } from "../ui/Prose";
import { answered, meaning, pieces } from "./reading";
import classes from "./WordsBar.module.css";

interface Props {
  text: string;
  onChange: (text: string) => void;
  onPlan: () => void;
  reading: Interpretation | undefined;
  /** Whether `reading` is of the text as it is now. */
  current: boolean;
  children: ReactNode;
}

export function WordsBar({ text, onChange, onPlan, reading, current, children }: Props) {
  return (
    <div className={classes.bar}>
      <Textarea
        label={t("words.label")}
        description={t("words.detail")}
        placeholder={t("words.placeholder")}
        value={text}
        maxLength={4000}
        autosize
        minRows={2}
        maxRows={6}
        size="md"
        onChange={(event) => onChange(event.currentTarget.value)}
        onKeyDown={(event) => {
          // While an input method composes, Enter only takes what it offers (229 is what Safari says then).
          // eslint-disable-next-line @typescript-eslint/no-deprecated -- Safari has nothing else that says it
          const composing = event.nativeEvent.isComposing || event.keyCode === 229;
          if (event.key === "Enter" && !event.shiftKey && !composing) {
            event.preventDefault();
            onPlan();
          }
        }}
      />
      {reading !== undefined && text.trim() !== "" && (
        <div aria-live="polite" className={classes.reading} data-stale={!current}>
          {current && <Reading text={text} reading={reading} />}
          {current && reading.questions.map((question, index) => (
            <Ask key={`${question.slot}-${index.toString()}`} question={question} text={text} use={(value) => onChange(answered(text, question, value))} />
          ))}
          {current && <Refusals refusals={reading.refusals} />}
        </div>
      )}
      {children}
    </div>
  );
}

function Reading({ text, reading }: { text: string; reading: Interpretation }) {
  if (reading.spans.length === 0) return null;
  return (
    <p className={classes.pieces} aria-label={t("words.reading")}>
      {pieces(text, reading.spans).map(({ text: words, start, spans }) =>
        spans.length === 0 ? (
          <span key={start} className={classes.plain}>
            {visible(words)}
          </span>
        ) : (
          <span key={start} className={classes.piece}>
            <span className={classes.words}>{visible(words)}</span>
            {spans.map((span) => (
              <Meaning key={span.slot} span={span} filled={reading.slots} />
            ))}
          </span>
        ),
      )}
    </p>
  );
}

function Meaning({ span, filled }: { span: Span; filled: Interpretation["slots"] }) {
  const zone = useZone();
  const means = meaning(span, zone, filled);
  const label = tData("slot", span.slot);
  return <span className={classes.means}>{means === "" ? label : t("words.means", { slot: label, means })}</span>;
}

export function Ask({ question, text, use }: { question: Question; text: string; use: (value: string) => void }) {
  const [own, setOwn] = useState("");
  return (
    <div className={classes.ask} role="group" aria-label={t("words.question", { slot: tData("slot", question.slot) })}>
      <IconHelpCircle size={20} aria-hidden className={classes.askIcon} />
      <div className={classes.askBody}>
        <Text fw={600}>
          <Prose>{question.message}</Prose>
        </Text>
        {question.words != null && question.words !== "" && question.words !== text && (
          <Text size="sm" c="dimmed">
            {t("words.about")} <Code>{visible(question.words)}</Code>
          </Text>
        )}
        {question.choices.length > 0 && <div className={classes.choices}>
          {question.choices.map(({ value, label }) => (
            <Button key={value} variant="default" onClick={() => use(value)}>
              {visible(label)}
            </Button>
          ))}
        </div>}
        <form
          className={classes.own}
          onSubmit={(event) => {
            event.preventDefault();
            if (own.trim() !== "") use(own.trim());
          }}
        >
          <TextInput
            aria-label={t("words.own", { slot: tData("slot", question.slot) })}
            placeholder={t(question.choices.length > 0 ? "words.own.orElse" : "words.own.placeholder")}
            value={own}
            onChange={(event) => setOwn(event.currentTarget.value)}
          />
          <Button type="submit" variant="default" size="sm">
            {t("words.use")}
          </Button>
        </form>
      </div>
    </div>
  );
}

export function Refusals({ refusals }: { refusals: readonly Refusal[] }) {
  return refusals.map(({ rule, message, words }, index) => (
    <div key={`${rule}-${index.toString()}`} className={classes.refusal} role="alert">
      <IconBan size={20} aria-hidden className={classes.askIcon} />
      <div>
        <Text fw={600}>
          <Prose>{message}</Prose>
        </Text>
        <div className={classes.rule}>
          <Pill size="sm">{t("words.rule", { rule })}</Pill>
          {words !== "" && <Code>{visible(words)}</Code>}
        </div>
      </div>
    </div>
  ));
}
