/** The same plan as a form. */

import { Checkbox, NativeSelect, SegmentedControl, Switch, Text, Textarea, TextInput } from "@mantine/core";
import type { Endpoint } from "../api/schema";
import { useState } from "react";
import { fromField } from "../format/time";
import { parseBytes, parseRate } from "../format/units";
import { t } from "../i18n";
import { TuningFields } from "../quality/TuningFields";
import { ACTIONS, COMPARES, CONFLICTS, EMPTY, given, PRESERVES, VERIFIES, type Draft } from "./intent";
import classes from "./IntentForm.module.css";
import { useFound, type Known } from "./found";
import { Resulting } from "./Resulting";

interface Part {
  draft: Draft;
  change: (part: Partial<Draft>) => void;
}

export function IntentForm({ draft, onChange, ...places }: Known & { draft: Draft; onChange: (draft: Draft) => void }) {
  const change = (part: Partial<Draft>) => onChange({ ...draft, ...part });
  // What was set is seen; later it is opened and closed by hand alone.
  const [open] = useState(() => MORE.some((name) => JSON.stringify(draft[name]) !== JSON.stringify(EMPTY[name])));
  return (
    <div className={classes.form}>
      <div className={classes.wide}>
        <Text size="sm" fw={500} id="intent-action">
          {t("form.action")}
        </Text>
        <SegmentedControl
          aria-labelledby="intent-action"
          value={draft.action}
          onChange={(action) => change({ action })}
          data={ACTIONS.map((value) => ({ value, label: t(`action.name.${value}`) }))}
        />
        <Text size="xs" c="dimmed">
          {t(`action.means.${draft.action}`)}
        </Text>
      </div>
      <Locations draft={draft} places={places} change={change} />
      <Textarea label={t("form.include")} description={t("form.include.detail")} autosize value={draft.include} onChange={(event) => change({ include: event.currentTarget.value })} />
      <Textarea label={t("form.exclude")} description={t("form.exclude.detail")} autosize value={draft.exclude} onChange={(event) => change({ exclude: event.currentTarget.value })} />
      <NativeSelect
        label={t("form.conflict")}
        description={t("form.conflict.detail")}
        value={draft.onConflict ?? ""}
        data={[{ value: "", label: t("form.conflict.none") }, ...CONFLICTS.map((value) => ({ value, label: t(`conflict.${value}`) }))]}
        onChange={(event) => change({ onConflict: CONFLICTS.find((one) => one === event.currentTarget.value) ?? null })}
      />
      <TextInput
        label={t("form.rate")}
        description={t("form.rate.detail")}
        value={draft.rate}
        error={given(draft.rate, parseRate) === undefined ? t("form.rate.bad") : null}
        onChange={(event) => change({ rate: event.currentTarget.value })}
      />
      <details className={classes.wide} open={open}>
        <summary>{t("form.more")}</summary>
        <More draft={draft} change={change} />
      </details>
    </div>
  );
}

const NAMED = 100;

function named(endpoints: readonly Endpoint[]): string {
  return endpoints
    .slice(0, NAMED)
    .map(({ id }) => id)
    .join(", ");
}

function Locations({ draft, places, change }: Part & { places: Known }) {
  const sources = useFound(draft.source.split(":", 1)[0] ?? "", places);
  const destinations = useFound(draft.destination.split(":", 1)[0] ?? "", places);
  return (
    <>
      <TextInput
        label={t("form.source")}
        description={t("form.source.detail", { endpoints: named(sources) })}
        value={draft.source}
        required
        onChange={(event) => change({ source: event.currentTarget.value })}
      />
      <div>
        <TextInput
          label={t("form.destination")}
          description={places.more === true ? t("form.source.detail", { endpoints: named(destinations) }) : t("form.destination.detail")}
          value={draft.destination}
          required
          onChange={(event) => change({ destination: event.currentTarget.value })}
        />
        <Resulting source={draft.source} destination={draft.destination} />
      </div>
    </>
  );
}

function Size({ label, value, onChange }: { label: string; value: string; onChange: (value: string) => void }) {
  return (
    <TextInput
      label={label}
      description={t("form.size.detail")}
      value={value}
      error={given(value, parseBytes) === undefined ? t("form.size.bad") : null}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

/** What a browser's own field holds while a date is half typed: nothing, and that it can't be read. */
const HALF_TYPED = "?";

function When({ label, value, onChange }: { label: string; value: string; onChange: (value: string) => void }) {
  const bad = given(value, fromField) === undefined;
  return (
    <TextInput
      type="datetime-local"
      step={1}
      label={label}
      description={t("form.localTime")}
      defaultValue={value === HALF_TYPED ? "" : value}
      error={bad ? t("form.time.bad") : null}
      onChange={(event) => onChange(event.currentTarget.value)}
      onBlur={(event) => {
        if (event.currentTarget.validity.badInput) onChange(HALF_TYPED);
        else if (value === HALF_TYPED) onChange(event.currentTarget.value);
      }}
    />
  );
}

const MORE = ["minSize", "maxSize", "after", "before", "verify", "compare", "preserve", "encryption", "project", "deleteExtraneous", "streams", "unit"] as const;

function More({ draft, change }: Part) {
  return (
    <div className={classes.form}>
      <Size label={t("form.minSize")} value={draft.minSize} onChange={(minSize) => change({ minSize })} />
      <Size label={t("form.maxSize")} value={draft.maxSize} onChange={(maxSize) => change({ maxSize })} />
      <When label={t("form.after")} value={draft.after} onChange={(after) => change({ after })} />
      <When label={t("form.before")} value={draft.before} onChange={(before) => change({ before })} />
      <NativeSelect
        label={t("form.verify")}
        value={draft.verify}
        data={VERIFIES.map((value) => ({ value, label: t(`verify.${value}`) }))}
        onChange={(event) => change({ verify: VERIFIES.find((one) => one === event.currentTarget.value) ?? "default" })}
      />
      <NativeSelect
        label={t("form.compare")}
        value={draft.compare}
        data={COMPARES.map((value) => ({ value, label: t(`compare.${value}`) }))}
        onChange={(event) => change({ compare: COMPARES.find((one) => one === event.currentTarget.value) ?? "size-mtime" })}
      />
      <Checkbox.Group label={t("form.preserve")} value={draft.preserve} onChange={(chosen) => change({ preserve: PRESERVES.filter((one) => chosen.includes(one)) })}>
        <div className={classes.row}>
          {PRESERVES.map((value) => (
            <Checkbox key={value} value={value} label={t(`preserve.${value}`)} />
          ))}
        </div>
      </Checkbox.Group>
      <div className={classes.stack}>
        <Switch label={t("form.encryption")} checked={draft.encryption} onChange={(event) => change({ encryption: event.currentTarget.checked })} />
        <Switch
          label={t("form.deleteExtraneous")}
          description={t("form.deleteExtraneous.detail")}
          checked={draft.deleteExtraneous}
          disabled={draft.action !== "sync"}
          onChange={(event) => change({ deleteExtraneous: event.currentTarget.checked })}
        />
      </div>
      <TextInput label={t("form.project")} description={t("form.project.detail")} value={draft.project} onChange={(event) => change({ project: event.currentTarget.value })} />
      <TuningFields of={draft} change={change} />
    </div>
  );
}
