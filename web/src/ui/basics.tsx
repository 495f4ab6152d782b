/** The pieces every page is made of. */

import { Alert, Button, Loader, Text, Title, Tooltip, type ButtonProps } from "@mantine/core";
import { IconAlertTriangle, IconCheck, IconCopy } from "@tabler/icons-react";
import { useState, type MouseEventHandler, type ReactNode } from "react";
import { inWords, isStatus } from "../api/problem";
import { ago, instant, useNow, useZone } from "../format/time";
import { visible } from "../format/text";
import { t } from "../i18n";
import { Prose } from "./Prose";
import { useTabTitle } from "./title";
import classes from "./basics.module.css";

export function Page(props: { title: string; tab?: string; lead?: ReactNode; actions?: ReactNode; children: ReactNode }) {
  useTabTitle(props.tab ?? props.title);
  return (
    <div className={classes.page}>
      <header className={classes.head}>
        <div>
          <Title order={1}>{props.title}</Title>
          {props.lead !== undefined && <div className={classes.lead}>{props.lead}</div>}
        </div>
        {props.actions !== undefined && <div className={classes.actions}>{props.actions}</div>}
      </header>
      {props.children}
    </div>
  );
}

export function Card(props: { title?: string; label?: string; actions?: ReactNode; children: ReactNode; tone?: "plain" | "danger" }) {
  return (
    <section className={classes.card} data-tone={props.tone ?? "plain"} aria-label={props.title ?? props.label}>
      {props.title !== undefined && (
        <div className={classes.cardHead}>
          <Title order={2}>{props.title}</Title>
          {props.actions}
        </div>
      )}
      {props.children}
    </section>
  );
}

/** Cards below each other. */
export function Stack(props: { children: ReactNode }) {
  return <div className={classes.stack}>{props.children}</div>;
}

export function Empty(props: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <div className={classes.empty}>
      <Text fw={600}>{props.title}</Text>
      {props.children !== undefined && (
        <Text c="dimmed" size="sm">
          {props.children}
        </Text>
      )}
      {props.action}
    </div>
  );
}

interface FailureProps {
  error: unknown;
  again?: () => void;
  /** Without the code, which says nothing to whoever is not signed in yet. */
  bare?: boolean;
}

export function Failure(props: FailureProps) {
  const { title, detail, code } = inWords(props.error);
  return (
    <Alert color="red" icon={<IconAlertTriangle aria-hidden />} title={title} role="alert">
      <div>
        <Prose>{detail}</Prose>
      </div>
      {code !== null && props.bare !== true && <div className={classes.code}>{code}</div>}
      {props.again !== undefined && !isStatus(props.error, 403) && (
        <Button variant="default" mt="xs" onClick={props.again}>
          {t("action.again")}
        </Button>
      )}
    </Alert>
  );
}

export function Loading() {
  return (
    <div className={classes.loading} role="status">
      <Loader size="sm" aria-hidden />
      <span>{t("state.loading")}</span>
    </div>
  );
}

interface ActProps extends ButtonProps {
  /** Why it can't be used now; null when it can. */
  blocked?: string | null | undefined;
  onClick?: MouseEventHandler<HTMLButtonElement>;
  type?: "button" | "submit";
  children: ReactNode;
}

/** A button that stays focusable when it can't be used, and says why. */
export function Act({ blocked, onClick, type = "button", children, ...rest }: ActProps) {
  if (blocked == null) {
    return (
      <Button type={type} onClick={onClick} {...rest}>
        {children}
      </Button>
    );
  }
  return (
    <Tooltip label={blocked}>
      <Button {...rest} type="button" data-disabled aria-disabled aria-description={blocked} onClick={(event) => event.preventDefault()}>
        {children}
      </Button>
    </Tooltip>
  );
}

export function Time(props: { value: string | null | undefined }) {
  const zone = useZone();
  if (props.value == null) return <>{t("value.none")}</>;
  const whole = instant(props.value, zone);
  return (
    <time dateTime={props.value} title={whole} className={classes.time}>
      {whole}
    </time>
  );
}

/** A time in a list: also how long ago it was, while that says more. */
export function Recent({ value }: { value: string }) {
  const passed = ago(value, useNow());
  return (
    <>
      <Time value={value} />
      {passed !== "" && <div className={classes.passed}>{passed}</div>}
    </>
  );
}

/** A name or path from storage: text, whole, with unseen characters made visible. */
export function Name(props: { children: string; wrap?: boolean }) {
  const shown = visible(props.children);
  return (
    <bdi className={props.wrap === true ? classes.nameWrap : classes.name} title={shown}>
      {shown}
    </bdi>
  );
}

export function Facts(props: { rows: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className={classes.facts}>
      {props.rows.map(([term, value]) => (
        <div key={term}>
          <dt>{term}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

const COPIED_MS = 4000;

/** Whether the browser let the text into the clipboard; over plain HTTP there is none. */
async function toClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

export function Copyable(props: { label: string; text: string }) {
  const [outcome, setOutcome] = useState<"copied" | "refused" | null>(null);
  const copied = outcome === "copied";
  const copy = () => {
    void toClipboard(props.text).then((done) => {
      setOutcome(done ? "copied" : "refused");
      if (done) setTimeout(() => setOutcome(null), COPIED_MS);
    });
  };
  return (
    <div className={classes.copyable}>
      <div>
        <code>{props.text}</code>
        {outcome === "refused" && (
          <Text size="xs" c="red" role="alert">
            {t("action.copy.refused")}
          </Text>
        )}
      </div>
      <Button
        variant="default"
        size="compact-xs"
        leftSection={copied ? <IconCheck size={14} aria-hidden /> : <IconCopy size={14} aria-hidden />}
        aria-label={t("action.copy.what", { what: props.label })}
        onClick={copy}
      >
        {copied ? t("action.copied") : t("action.copy")}
      </Button>
    </div>
  );
}
