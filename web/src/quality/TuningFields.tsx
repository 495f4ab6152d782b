/** Streams and the unit of large files, where somebody sets them instead of the service. */

import { TextInput } from "@mantine/core";
import { t } from "../i18n";
import { given } from "../plan/intent";
import { parseStreams, parseUnit } from "./tuning";

interface Fields {
  streams: string;
  unit: string;
}

export function TuningFields({ of, change }: { of: Fields; change: (part: Partial<Fields>) => void }) {
  return (
    <>
      <TextInput
        label={t("quality.streams")}
        description={t("form.streams.detail")}
        inputMode="numeric"
        value={of.streams}
        error={given(of.streams, parseStreams) === undefined ? t("form.streams.bad") : null}
        onChange={(event) => change({ streams: event.currentTarget.value })}
      />
      <TextInput
        label={t("quality.unit")}
        description={t("form.unit.detail")}
        value={of.unit}
        error={given(of.unit, parseUnit) === undefined ? t("form.unit.bad") : null}
        onChange={(event) => change({ unit: event.currentTarget.value })}
      />
    </>
  );
}
