/** Ask for a probe: two endpoints, a path at each, and how much it may move. Its plan card comes next, as for a transfer. */

import { Modal, Text, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { answer, api } from "../api/client";
import { parseRate } from "../format/units";
import { t } from "../i18n";
import { EndpointSelect } from "../plan/EndpointSelect";
import type { Known } from "../plan/found";
import { given } from "../plan/intent";
import { TuningFields } from "../quality/TuningFields";
import { Act, Failure } from "../ui/basics";
import { useStaying } from "../ui/staying";
import { known, requestOf, secondsOf, sizeOf, USUAL, type Address, type Asked, type ProbeRequest } from "./asked";

interface Props extends Known {
  /** What the address asks for; nothing while no probe is asked for. */
  asked: Address | undefined;
  /** Why this person may not ask. */
  blocked: string | null;
  open: () => void;
  close: () => void;
}

export function ProbeForm({ asked, blocked, open, close, ...places }: Props) {
  const few = places.endpoints.length === 0 ? t("probe.form.noEndpoint") : null;
  return (
    <>
      <Act variant="default" blocked={blocked ?? few} onClick={open}>
        {t("probe.form.open")}
      </Act>
      {asked !== undefined && (
        <Modal opened onClose={close} title={t("probe.form.open")} closeButtonProps={{ "aria-label": t("action.close") }}>
          <Form asked={asked} places={places} blocked={blocked} />
        </Modal>
      )}
    </>
  );
}

function Form({ asked: address, places, blocked }: Pick<Props, "blocked"> & { asked: Address; places: Known }) {
  const navigate = useNavigate();
  const staying = useStaying();
  const [asked, setAsked] = useState<Asked>(() => ({ ...USUAL, ...address, source: known(address.source, places), destination: known(address.destination, places) }));
  const change = (part: Partial<Asked>) => setAsked((old) => ({ ...old, ...part }));
  const plan = useMutation({
    mutationFn: (request: ProbeRequest) => answer(api.POST("/api/v1/plans", { body: request })),
    onSuccess: async ({ id }) => {
      if (staying()) await navigate({ to: "/plans/$plan", params: { plan: id } });
    },
  });
  const { request, lacks } = requestOf(asked);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (request !== null && blocked === null) plan.mutate(request);
      }}
    >
      <Text mb="sm">{t("probe.form.detail")}</Text>
      <EndpointSelect mt="sm" label={t("form.source")} value={asked.source} known={places} choose={(source) => change({ source })} />
      <TextInput label={t("probe.form.read")} description={t("probe.form.read.detail")} value={asked.read} onChange={(event) => change({ read: event.currentTarget.value })} />
      <EndpointSelect mt="sm" label={t("form.destination")} value={asked.destination} known={places} choose={(destination) => change({ destination })} />
      <TextInput label={t("probe.form.written")} description={t("probe.form.written.detail")} value={asked.written} onChange={(event) => change({ written: event.currentTarget.value })} />
      <TextInput
        label={t("probe.form.seconds")}
        inputMode="numeric"
        value={asked.seconds}
        error={secondsOf(asked.seconds) === null ? t("probe.form.lacks.seconds") : null}
        onChange={(event) => change({ seconds: event.currentTarget.value })}
      />
      <TextInput
        label={t("probe.form.size")}
        value={asked.size}
        error={sizeOf(asked.size) === null ? t("probe.form.lacks.size") : null}
        onChange={(event) => change({ size: event.currentTarget.value })}
      />
      <TextInput
        label={t("form.rate")}
        description={t("form.rate.detail")}
        value={asked.rate}
        error={given(asked.rate, parseRate) === undefined ? t("form.rate.bad") : null}
        onChange={(event) => change({ rate: event.currentTarget.value })}
      />
      <TuningFields of={asked} change={change} />
      {plan.isError && <Failure error={plan.error} />}
      <Act type="submit" mt="md" size="sm" blocked={blocked ?? (lacks === null ? null : t(`probe.form.lacks.${lacks}`))} loading={plan.isPending}>
        {t("probe.form.plan")}
      </Act>
    </form>
  );
}
