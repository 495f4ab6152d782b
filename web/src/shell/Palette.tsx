/** Ctrl/Cmd-K: go anywhere by a few letters; words that are no room become a new transfer, and find those that hold them. */

import { Combobox, Modal, TextInput, useCombobox } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { foundQuery } from "../api/queries";
import type { Me } from "../api/schema";
import { shortened } from "../format/path";
import { t, tData } from "../i18n";
import { whyNot } from "../ui/permissions";
import { TransferBadge } from "../ui/state";
import { ROOMS } from "./navigation";

const SETTLE_MS = 150;
/** Fewer letters would find nearly everything. */
const SHORTEST = 3;

/** Ids of things that have a page of their own. */
const IDS = { transfer: /^tr_\w+$/, plan: /^pl_\w+$/ } as const;
type Kind = keyof typeof IDS;
const KINDS: readonly Kind[] = ["transfer", "plan"];

export default function Palette({ me, close }: { me: Me; close: () => void }) {
  const [text, setText] = useState("");
  const navigate = useNavigate();
  const combobox = useCombobox({ opened: true });
  const id = text.trim();
  const kind = KINDS.find((one) => IDS[one].test(id));
  const wanted = id.toLowerCase();
  const rooms = ROOMS.filter(
    ({ label, needs }) => t(label).toLowerCase().includes(wanted) && (needs === null || whyNot(me, needs) === null),
  );
  const [settled] = useDebouncedValue(id, SETTLE_MS);
  const found = useQuery({ ...foundQuery(settled), enabled: settled.length >= SHORTEST && kind === undefined });
  const go = (value: string) => {
    close();
    const room = ROOMS.find(({ to }) => to === value);
    if (room !== undefined) void navigate({ to: room.to });
    else if (IDS.transfer.test(value)) void navigate({ to: "/transfers/$transfer", params: { transfer: value } });
    else if (value === "plan") void navigate({ to: "/plans/$plan", params: { plan: id } });
    else void navigate({ to: "/new", search: { words: text } });
  };
  return (
    <Modal opened onClose={close} title={t("palette.title")} closeButtonProps={{ "aria-label": t("action.close") }} yOffset="12vh" centered={false}>
      <Combobox store={combobox} onOptionSubmit={go} withinPortal={false}>
        <Combobox.EventsTarget>
          <TextInput
            data-autofocus
            aria-label={t("palette.label")}
            placeholder={t("palette.placeholder")}
            value={text}
            onChange={(event) => {
              setText(event.currentTarget.value);
              combobox.selectFirstOption();
            }}
            onKeyDownCapture={(event) => {
              // The list takes Escape for itself, and is never closed without the dialog.
              if (event.key === "Escape") close();
            }}
          />
        </Combobox.EventsTarget>
        <Combobox.Options aria-label={t("palette.title")} mt="xs">
          {rooms.map(({ to, label, icon: Glyph }) => (
            <Combobox.Option key={to} value={to}>
              <Glyph size={16} aria-hidden /> {t(label)}
            </Combobox.Option>
          ))}
          {kind !== undefined && <Combobox.Option value={kind === "transfer" ? id : kind}>{t(`palette.${kind}`, { id })}</Combobox.Option>}
          {rooms.length === 0 && kind === undefined && whyNot(me, "plan") === null && (
            <Combobox.Option value="words">{t("palette.words", { words: text })}</Combobox.Option>
          )}
          {settled === id && found.data?.map(({ id: transfer, state, action, source, destination }) => (
            <Combobox.Option key={transfer} value={transfer}>
              <TransferBadge state={state} /> {tData("action.name", action)} {shortened(source, 40)} → {shortened(destination, 40)}
            </Combobox.Option>
          ))}
        </Combobox.Options>
      </Combobox>
    </Modal>
  );
}
