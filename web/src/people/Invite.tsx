import { Checkbox, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api } from "../api/client";
import { peopleQuery } from "../api/people-queries";
import { t } from "../i18n";
import { Act, Failure, Time } from "../ui/basics";
import { useProof } from "../ui/proof";
import { ShownOnce } from "../ui/ShownOnce";

export const ROLES = ["viewer", "requester", "approver", "policy_admin", "operator", "auditor", "admin"] as const;
const VALID_S = 3 * 86_400;

/** Invite a person by a one-time link, shown once. */
export function Invite({ blocked }: { blocked: string | null }) {
  const client = useQueryClient();
  const [open, setOpen] = useState(false);
  const [name, setName] = useState("");
  const [roles, setRoles] = useState<string[]>(["requester"]);
  const proof = useProof();
  const invite = useMutation({
    mutationFn: () => answer(api.POST("/api/v1/people/invitations", { body: { name, roles, valid_s: VALID_S, ...proof.take() } })),
    onSuccess: () => {
      proof.used();
      return client.invalidateQueries({ queryKey: peopleQuery.queryKey });
    },
  });
  const close = () => {
    setOpen(false);
    setName("");
    invite.reset();
  };
  return (
    <>
      <Act blocked={blocked} onClick={() => setOpen(true)}>
        {t("invite.open")}
      </Act>
      {open && (
        <ShownOnce
          title={t("invite.open")}
          close={close}
          busy={invite.isPending}
          made={invite.data === undefined ? null : { label: t("invite.link"), text: invite.data.link, lead: <>{t("invite.once", { name: invite.data.name })} <Time value={invite.data.expires} />.</> }}
        >
          <form
            onSubmit={(event) => {
              event.preventDefault();
              invite.mutate();
            }}
          >
            <TextInput data-autofocus label={t("person.name")} required maxLength={64} value={name} onChange={(event) => setName(event.currentTarget.value)} />
            <Checkbox.Group mt="sm" label={t("people.roles")} value={roles} onChange={setRoles}>
              {ROLES.map((role) => (
                <Checkbox key={role} mt={6} value={role} label={t(`role.${role}`)} description={t(`role.${role}.detail`)} />
              ))}
            </Checkbox.Group>
            {invite.isError && <Failure error={invite.error} />}
            {proof.field(invite.error, () => invite.mutate())}
            <Act type="submit" mt="md" size="sm" loading={invite.isPending} blocked={roles.length === 0 ? t("invite.needsRole") : null}>
              {t("invite.make")}
            </Act>
          </form>
        </ShownOnce>
      )}
    </>
  );
}
