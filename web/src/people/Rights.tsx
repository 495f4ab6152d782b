import { Checkbox, TagsInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api } from "../api/client";
import { peopleQuery } from "../api/people-queries";
import type { Person } from "../api/schema";
import { visible } from "../format/text";
import { t, tData } from "../i18n";
import { Act, Card, Facts, Failure } from "../ui/basics";
import { useProof } from "../ui/proof";
import { tell } from "../ui/toasts";
import { ROLES } from "./Invite";

/** What counts for somebody, and the part of it that administrators grant. */
export function Rights({ person }: { person: Person }) {
  const client = useQueryClient();
  const [roles, setRoles] = useState<string[]>(person.granted_roles);
  const [groups, setGroups] = useState<string[]>(person.granted_groups);
  const proof = useProof();
  const grant = useMutation({
    mutationFn: () => answer(api.PATCH("/api/v1/people/{person}", { params: { path: { person: person.id } }, body: { roles, groups, ...proof.take() } })),
    onSuccess: () => {
      proof.used();
      tell(t("person.rights.changed", { name: visible(person.name) }));
      return client.invalidateQueries({ queryKey: peopleQuery.queryKey });
    },
  });
  return (
    <Card title={t("person.rights")}>
      <Facts
        rows={[
          [t("people.roles"), person.roles.map((role) => tData("role", role)).join(", ") || t("role.none")],
          [t("person.groups"), person.groups.map(visible).join(", ") || t("value.none")],
        ]}
      />
      <form
        onSubmit={(event) => {
          event.preventDefault();
          grant.mutate();
        }}
      >
        <Checkbox.Group mt="sm" label={t("person.granted.roles")} value={roles} onChange={setRoles}>
          {ROLES.map((role) => (
            <Checkbox key={role} mt={6} value={role} label={t(`role.${role}`)} />
          ))}
        </Checkbox.Group>
        <TagsInput mt="sm" label={t("person.granted.groups")} description={t("person.granted.groups.detail")} value={groups} onChange={setGroups} maxTags={100} />
        {grant.isError && <Failure error={grant.error} />}
        {proof.field(grant.error, () => grant.mutate())}
        <Act type="submit" mt="md" size="sm" loading={grant.isPending}>
          {t("person.rights.change")}
        </Act>
      </form>
    </Card>
  );
}
