import { Autocomplete, Checkbox, Group, Table, TagsInput, TextInput } from "@mantine/core";
import { useMutation, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api } from "../api/client";
import { groupsQuery, peopleQuery } from "../api/people-queries";
import { meQuery } from "../api/queries";
import type { GroupBinding, GroupProposal, IssuerHere, RightsChange } from "../api/schema";
import { visible } from "../format/text";
import { t, tData, tn } from "../i18n";
import { Reasoned } from "../transfers/Reasoned";
import { Act, Card, Empty, Failure, Name, Stack } from "../ui/basics";
import { Listing } from "../ui/Listing";
import { useProof } from "../ui/proof";
import { tell } from "../ui/toasts";
import { ROLES } from "./Invite";

const LONGEST = 300;
const roleNames = (roles: readonly string[]) => roles.map((role) => tData("role", role)).join(", ") || t("role.none");

/** What groups of issuers give here, which one administrator proposes and another publishes. */
export function GroupMap() {
  const { data: map } = useSuspenseQuery(groupsQuery);
  return (
    <Stack>
      <Card title={t("groups.title")}>{map.bindings.length === 0 ? <Empty title={t("groups.none")} /> : <Bindings label={t("groups.title")} bindings={map.bindings} />}</Card>
      {map.proposed != null && <Proposed proposal={map.proposed} />}
      <Propose before={map.proposed?.bindings ?? map.bindings} issuers={map.issuers} />
    </Stack>
  );
}

function Bindings({ label, bindings }: { label: string; bindings: readonly GroupBinding[] }) {
  return (
    <Listing part label={label} heads={[t("person.issuer"), t("groups.group"), t("people.roles"), t("person.groups")]}>
      {bindings.map(({ issuer, group, roles, groups }) => (
        <Table.Tr key={`${issuer} ${group}`}>
          <Table.Td>
            <Name>{issuer}</Name>
          </Table.Td>
          <Table.Td>
            <Name>{group}</Name>
          </Table.Td>
          <Table.Td>{roleNames(roles)}</Table.Td>
          <Table.Td>{groups.map(visible).join(", ")}</Table.Td>
        </Table.Tr>
      ))}
    </Listing>
  );
}

function Changes({ changes }: { changes: readonly RightsChange[] }) {
  return (
    <>
      <p>{tn("count.rightsWouldChange", changes.length)}</p>
      {changes.length > 0 && (
        <Listing part label={t("groups.changes")} heads={[t("person.name"), t("groups.before"), t("groups.after")]}>
          {changes.map((one) => (
            <Table.Tr key={one.person}>
              <Table.Td>{visible(one.name)}</Table.Td>
              <Table.Td>{[roleNames(one.roles_before), ...one.groups_before.map(visible)].join(", ")}</Table.Td>
              <Table.Td>{[roleNames(one.roles), ...one.groups.map(visible)].join(", ")}</Table.Td>
            </Table.Tr>
          ))}
        </Listing>
      )}
    </>
  );
}

function Proposed({ proposal }: { proposal: GroupProposal }) {
  const { data: me } = useSuspenseQuery(meQuery);
  const client = useQueryClient();
  const [asking, setAsking] = useState(false);
  const proof = useProof();
  const publish = useMutation({
    mutationFn: () =>
      answer(api.POST("/api/v1/group-bindings/proposals/{proposal}/publish", { params: { path: { proposal: proposal.id } }, body: proof.take() })),
    onSuccess: async () => {
      proof.used();
      tell(t("groups.published"));
      setAsking(false);
      for (const { queryKey } of [groupsQuery, peopleQuery]) await client.invalidateQueries({ queryKey });
    },
  });
  return (
    <Card
      title={t("groups.proposed", { name: visible(proposal.author_name) })}
      actions={
        <Act blocked={proposal.author === me.id ? t("groups.own") : null} onClick={() => setAsking(true)}>
          {t("groups.publish")}
        </Act>
      }
    >
      <Bindings label={t("groups.proposed", { name: visible(proposal.author_name) })} bindings={proposal.bindings} />
      <Changes changes={proposal.changes} />
      {asking && (
        <Reasoned
          title={t("groups.publish")}
          detail={t("groups.publish.detail")}
          verb={t("groups.publish")}
          danger={false}
          reason="none"
          pending={publish.isPending}
          error={publish.error}
          proof={proof.field(publish.error, () => publish.mutate())}
          close={() => setAsking(false)}
          go={() => publish.mutate()}
        />
      )}
    </Card>
  );
}

/** Say all that one group gives, beside what is proposed already. */
function Propose({ before, issuers }: { before: readonly GroupBinding[]; issuers: readonly IssuerHere[] }) {
  const client = useQueryClient();
  const [issuer, setIssuer] = useState("");
  const [group, setGroup] = useState("");
  const [roles, setRoles] = useState<string[]>([]);
  const [groups, setGroups] = useState<string[]>([]);
  const kept = before.filter((one) => one.issuer !== issuer || one.group !== group);
  const bindings = roles.length + groups.length === 0 ? kept : [...kept, { issuer, group, roles, groups }];
  const propose = useMutation({
    mutationFn: (dry: boolean) => answer(api.POST("/api/v1/group-bindings/proposals", { body: { bindings, dry_run: dry } })),
    onSuccess: async (_, dry) => {
      if (dry) return;
      tell(t("groups.isProposed"));
      await client.invalidateQueries({ queryKey: groupsQuery.queryKey });
    },
  });
  const blocked = issuer === "" || group === "" ? t("groups.needed") : null;
  return (
    <Card title={t("groups.propose")}>
      <Autocomplete label={t("person.issuer")} maxLength={LONGEST} value={issuer} onChange={setIssuer} data={issuers.map((one) => one.issuer)} />
      <TextInput mt="sm" label={t("groups.group")} description={t("groups.group.detail")} maxLength={LONGEST} value={group} onChange={(event) => setGroup(event.currentTarget.value)} />
      <Checkbox.Group mt="sm" label={t("groups.roles")} value={roles} onChange={setRoles}>
        {ROLES.map((role) => (
          <Checkbox key={role} mt={6} value={role} label={t(`role.${role}`)} />
        ))}
      </Checkbox.Group>
      <TagsInput mt="sm" label={t("groups.groups")} description={t("person.granted.groups.detail")} value={groups} onChange={setGroups} maxTags={100} />
      {propose.isError && <Failure error={propose.error} />}
      {propose.isSuccess && propose.variables && <Changes changes={propose.data.changes} />}
      <Group mt="md">
        <Act variant="default" size="sm" blocked={blocked} loading={propose.isPending} onClick={() => propose.mutate(true)}>
          {t("groups.preview")}
        </Act>
        <Act size="sm" blocked={blocked} loading={propose.isPending} onClick={() => propose.mutate(false)}>
          {t("groups.propose.go")}
        </Act>
      </Group>
    </Card>
  );
}
