/** Steering one transfer: pause, resume, cancel with a reason, another rate; once it has ended, the failed files or all of it again. */

import { Modal, Text, TextInput } from "@mantine/core";
import { useMutation, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { answer, api } from "../api/client";
import { ENDED, eventsKey, meQuery, transferQuery } from "../api/queries";
import type { ControlRequest, Transfer } from "../api/schema";
import { bytes, parseRate, rate } from "../format/units";
import { t, tn } from "../i18n";
import { fromIntent, toAddress, written } from "../plan/intent";
import { ofPlan } from "../probe/asked";
import { Act, Failure } from "../ui/basics";
import { refusal } from "../ui/permissions";
import { useStaying } from "../ui/staying";
import { tell } from "../ui/toasts";
import { askedBefore, planAgain } from "./again";
import { Reasoned } from "./Reasoned";

type Dialog = "pause" | "cancel" | "rate";

export function Controls({ transfer }: { transfer: Transfer }) {
  const client = useQueryClient();
  const { data: me } = useSuspenseQuery(meQuery);
  const [dialog, setDialog] = useState<Dialog | null>(null);
  const steer = useMutation({
    mutationFn: (request: ControlRequest) =>
      answer(api.POST("/api/v1/transfers/{transfer}/control", { params: { path: { transfer: transfer.id } }, body: request })),
    onSuccess: async (changed, { action }) => {
      client.setQueryData(transferQuery(transfer.id).queryKey, changed);
      tell(t(`control.${action}.done`));
      setDialog(null);
      await client.invalidateQueries({ queryKey: eventsKey(transfer.id) });
    },
  });
  const { state, progress } = transfer;
  if (ENDED.has(state)) {
    return (
      <>
        {(state === "partial" || state === "failed") && (
          <Act variant={refusal(transfer, "retry") === null ? "filled" : "default"} blocked={refusal(transfer, "retry")} loading={steer.isPending} onClick={() => steer.mutate({ action: "retry", reason: "" })}>
            {state === "failed" ? t("control.retry.whole") : t("control.retry")}
          </Act>
        )}
        <Again transfer={transfer} />
        {steer.isError && <Failure error={steer.error} />}
      </>
    );
  }
  const running = steer.isPending ? steer.variables.action : null;
  const ask = (next: Dialog) => {
    steer.reset();
    setDialog(next);
  };
  return (
    <>
      <Act variant="default" blocked={refusal(transfer, "pause")} onClick={() => ask("pause")}>
        {t("control.pause")}
      </Act>
      <Act variant="default" blocked={refusal(transfer, "resume")} loading={running === "resume"} onClick={() => steer.mutate({ action: "resume", reason: "" })}>
        {t("control.resume")}
      </Act>
      <Act variant="default" blocked={refusal(transfer, "set_rate")} onClick={() => ask("rate")}>
        {t("control.rate")}
      </Act>
      <Act color="red" variant="outline" blocked={refusal(transfer, "cancel")} onClick={() => ask("cancel")}>
        {t("control.cancel")}
      </Act>
      {steer.isError && dialog === null && <Failure error={steer.error} />}
      {(dialog === "pause" || dialog === "cancel") && (
        <Reasoned
          title={t(`control.${dialog}.one`)}
          detail={
            dialog === "pause"
              ? t("control.pause.detail")
              : t("control.cancel.detail.one", { done: tn("count.files", progress.files_done), size: bytes(progress.bytes_durable) })
          }
          verb={t(`control.${dialog}`)}
          danger={dialog === "cancel"}
          reason={dialog === "pause" && transfer.requester === me.id ? "optional" : "asked"}
          pending={steer.isPending}
          error={steer.error}
          close={() => setDialog(null)}
          go={(reason) => steer.mutate({ action: dialog, reason })}
        />
      )}
      {dialog === "rate" && (
        <RateDialog transfer={transfer} pending={steer.isPending} error={steer.error} close={() => setDialog(null)} go={(rate_bps) => steer.mutate({ action: "set_rate", reason: "", rate_bps })} />
      )}
    </>
  );
}

/** All of it once more: as it was, or changed first. */
function Again({ transfer }: { transfer: Transfer }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const staying = useStaying();
  const run = useMutation({
    mutationFn: () => planAgain(client, transfer),
    onSuccess: async ({ id }) => {
      if (staying()) await navigate({ to: "/plans/$plan", params: { plan: id } });
    },
  });
  const change = useMutation({
    mutationFn: () => askedBefore(client, transfer),
    onSuccess: async ({ intent, probe, tuning }) => {
      if (!staying()) return;
      await navigate(probe === null ? { to: "/new", search: { view: "form", form: toAddress(fromIntent(intent, tuning)) } } : { to: "/endpoints", search: { probe: ofPlan(intent, probe, tuning) } });
    },
  });
  // The service refuses to make a copy of a probe's places; here a probe is asked for anew as one.
  const blocked = transfer.probe && transfer.ended != null ? null : refusal(transfer, "run_again");
  const error = run.error ?? change.error;
  return (
    <>
      <Act variant="default" blocked={blocked} loading={run.isPending} onClick={() => run.mutate()}>
        {t("control.run_again")}
      </Act>
      <Act variant="default" blocked={blocked} loading={change.isPending} onClick={() => change.mutate()}>
        {t("control.change")}
      </Act>
      {error !== null && <Failure error={error} />}
    </>
  );
}

interface RateProps {
  transfer: Transfer;
  pending: boolean;
  error: unknown;
  close: () => void;
  go: (rate: number | null) => void;
}

function RateDialog({ transfer, pending, error, close, go }: RateProps) {
  const { rate_ceiling_bps: ceiling, plan_rate_ceiling_bps: most } = transfer;
  const [text, setText] = useState(written(ceiling, rate, parseRate, "bit/s"));
  const wanted = parseRate(text);
  const blocked = text.trim() !== "" && wanted === null ? t("form.rate.bad") : most != null && wanted !== null && wanted > most ? t("control.rate.tooHigh", { most: rate(most) }) : null;
  return (
    <Modal opened onClose={close} title={t("control.rate")} closeButtonProps={{ "aria-label": t("action.close") }}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (blocked === null) go(wanted);
        }}
      >
        <Text mb="sm">{most == null ? t("control.rate.free") : t("control.rate.detail", { most: rate(most) })}</Text>
        <TextInput data-autofocus label={t("form.rate")} description={t("form.rate.detail")} value={text} error={blocked} onChange={(event) => setText(event.currentTarget.value)} />
        {error != null && <Failure error={error} />}
        <Act type="submit" mt="sm" size="sm" blocked={blocked} loading={pending}>
          {t("control.rate.set")}
        </Act>
      </form>
    </Modal>
  );
}
