/** A one-time token with which a new node joins; shown once, with the lines to run on the other host. */

import { Modal, Text, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api } from "../api/client";
import { t } from "../i18n";
import { Act, Copyable, Failure, Time } from "../ui/basics";

const VALID_S = 3600;

export function Join({ blocked }: { blocked: string | null }) {
  const [open, setOpen] = useState(false);
  const [name, setName] = useState("");
  const make = useMutation({
    mutationFn: () => answer(api.POST("/api/v1/nodes/join-tokens", { body: { name, valid_s: VALID_S } })),
  });
  const close = () => {
    setOpen(false);
    setName("");
    make.reset();
  };
  return (
    <>
      <Act blocked={blocked} onClick={() => setOpen(true)}>
        {t("join.open")}
      </Act>
      <Modal opened={open} onClose={close} title={t("join.title")} size="lg" closeButtonProps={{ "aria-label": t("action.close") }}>
        {make.data === undefined ? (
          <form
            onSubmit={(event) => {
              event.preventDefault();
              make.mutate();
            }}
          >
            <TextInput data-autofocus label={t("join.name")} description={t("join.name.detail")} required maxLength={120} value={name} onChange={(event) => setName(event.currentTarget.value)} />
            {make.isError && <Failure error={make.error} />}
            <Act type="submit" mt="sm" size="sm" loading={make.isPending}>
              {t("join.make")}
            </Act>
          </form>
        ) : (
          <>
            <Text mb="xs">
              {t("join.once")} <Time value={make.data.expires} />.
            </Text>
            <Copyable label={t("join.commands")} text={make.data.commands.join("\n")} />
          </>
        )}
      </Modal>
    </>
  );
}
