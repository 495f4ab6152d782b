/** The same plan as a form. */

import { Checkbox, NativeSelect, SegmentedControl, Switch, Text, Textarea, TextInput } from "@mantine/core";
import { useState } from "react";
import type { Endpoint, TransferIntent } from "../api/schema";
import { fromField, toField } from "../format/time";
import { bytes, parseBytes, parseRate, rate } from "../format/units";
import { t } from "../i18n";
import { lines } from "./intent";
import classes from "./IntentForm.module.css";

interface Props {
  intent: TransferIntent;
  endpoints: readonly Endpoint[];
  onChange: (intent: TransferIntent) => void;
}

const ACTIONS = ["copy", "sync", "move"] as const;
const CONFLICTS = ["fail", "skip", "newer", "overwrite"] as const;
const VERIFIES = ["default", "in-transit", "at-rest"] as const;
const PRESERVES = ["timestamps", "permissions", "symlinks"] as const;

export function IntentForm({ intent, endpoints, onChange }: Props) {
  const change = (part: Partial<TransferIntent>) => onChange({ ...intent, ...part });
  return (
    <div className={classes.form}>
      <div className={classes.wide}>
        <Text size="sm" fw={500} id="intent-action">
          {t("form.action")}
        </Text>
        <SegmentedControl
          aria-labelledby="intent-action"
          value={intent.action}
          onChange={(action) => change({ action })}
          data={ACTIONS.map((value) => ({ value, label: t(`action.name.${value}`) }))}
        />
        <Text size="xs" c="dimmed">
          {t(`action.means.${intent.action}`)}
        </Text>
      </div>
      <Locations intent={intent} endpoints={endpoints} change={change} />
      <Textarea
        label={t("form.include")}
        description={t("form.include.detail")}
        autosize
        defaultValue={intent.include.join("\n")}
        onChange={(event) => change({ include: lines(event.currentTarget.value) })}
      />
      <Textarea
        label={t("form.exclude")}
        description={t("form.exclude.detail")}
        autosize
        defaultValue={intent.exclude.join("\n")}
        onChange={(event) => change({ exclude: lines(event.currentTarget.value) })}
      />
      <NativeSelect
        label={t("form.conflict")}
        description={t("form.conflict.detail")}
        value={intent.on_conflict ?? ""}
        data={[{ value: "", label: t("form.conflict.none") }, ...CONFLICTS.map((value) => ({ value, label: t(`conflict.${value}`) }))]}
        onChange={(event) => change({ on_conflict: CONFLICTS.find((one) => one === event.currentTarget.value) ?? null })}
      />
      <Rate intent={intent} change={change} />
      <details className={classes.wide}>
        <summary>{t("form.more")}</summary>
        <More intent={intent} change={change} />
      </details>
    </div>
  );
}

interface Part {
  intent: TransferIntent;
  change: (part: Partial<TransferIntent>) => void;
}

function Locations({ intent, endpoints, change }: Part & { endpoints: readonly Endpoint[] }) {
  const known = endpoints.map(({ id }) => id).join(", ");
  return (
    <>
      <TextInput
        label={t("form.source")}
        description={t("form.source.detail", { endpoints: known })}
        value={intent.source}
        required
        onChange={(event) => change({ source: event.currentTarget.value })}
      />
      <TextInput
        label={t("form.destination")}
        description={t("form.destination.detail")}
        value={intent.destination}
        required
        onChange={(event) => change({ destination: event.currentTarget.value })}
      />
    </>
  );
}

function Rate({ intent, change }: Part) {
  const [text, setText] = useState(intent.rate_limit_bps == null ? "" : rate(intent.rate_limit_bps));
  const bad = text.trim() !== "" && parseRate(text) === null;
  return (
    <TextInput
      label={t("form.rate")}
      description={t("form.rate.detail")}
      value={text}
      error={bad ? t("form.rate.bad") : null}
      onChange={(event) => {
        setText(event.currentTarget.value);
        change({ rate_limit_bps: parseRate(event.currentTarget.value) });
      }}
    />
  );
}

function Size(props: { label: string; value: number | null | undefined; onChange: (value: number | null) => void }) {
  const [text, setText] = useState(props.value == null ? "" : bytes(props.value));
  const bad = text.trim() !== "" && parseBytes(text) === null;
  return (
    <TextInput
      label={props.label}
      description={t("form.size.detail")}
      value={text}
      error={bad ? t("form.size.bad") : null}
      onChange={(event) => {
        setText(event.currentTarget.value);
        props.onChange(parseBytes(event.currentTarget.value));
      }}
    />
  );
}

function More({ intent, change }: Part) {
  return (
    <div className={classes.form}>
      <Size label={t("form.minSize")} value={intent.min_size_bytes} onChange={(min_size_bytes) => change({ min_size_bytes })} />
      <Size label={t("form.maxSize")} value={intent.max_size_bytes} onChange={(max_size_bytes) => change({ max_size_bytes })} />
      <TextInput
        type="datetime-local"
        label={t("form.after")}
        description={t("form.localTime")}
        defaultValue={toField(intent.modified_after)}
        onChange={(event) => change({ modified_after: fromField(event.currentTarget.value) })}
      />
      <TextInput
        type="datetime-local"
        label={t("form.before")}
        description={t("form.localTime")}
        defaultValue={toField(intent.modified_before)}
        onChange={(event) => change({ modified_before: fromField(event.currentTarget.value) })}
      />
      <NativeSelect
        label={t("form.verify")}
        value={intent.verify}
        data={VERIFIES.map((value) => ({ value, label: t(`verify.${value}`) }))}
        onChange={(event) => change({ verify: VERIFIES.find((one) => one === event.currentTarget.value) ?? "default" })}
      />
      <NativeSelect
        label={t("form.compare")}
        value={intent.compare}
        data={[
          { value: "size-mtime", label: t("compare.size-mtime") },
          { value: "checksum", label: t("compare.checksum") },
        ]}
        onChange={(event) => change({ compare: event.currentTarget.value === "checksum" ? "checksum" : "size-mtime" })}
      />
      <Checkbox.Group
        label={t("form.preserve")}
        value={intent.preserve}
        onChange={(chosen) => change({ preserve: PRESERVES.filter((one) => chosen.includes(one)) })}
      >
        <div className={classes.row}>
          {PRESERVES.map((value) => (
            <Checkbox key={value} value={value} label={t(`preserve.${value}`)} />
          ))}
        </div>
      </Checkbox.Group>
      <div className={classes.stack}>
        <Switch
          label={t("form.encryption")}
          checked={intent.encryption}
          onChange={(event) => change({ encryption: event.currentTarget.checked })}
        />
        <Switch
          label={t("form.deleteExtraneous")}
          description={t("form.deleteExtraneous.detail")}
          checked={intent.delete_extraneous}
          disabled={intent.action !== "sync"}
          onChange={(event) => change({ delete_extraneous: event.currentTarget.checked })}
        />
      </div>
    </div>
  );
}
