/** Endpoints, the names people use; and nodes, the processes behind them. */

import { Badge, Group, Table, Text } from "@mantine/core";
import { useInfiniteQuery, useMutation, useQueryClient, useSuspenseInfiniteQuery, useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { answer, api } from "../api/client";
import { endpointsQuery, meQuery, nodesQuery, type EndpointFilter } from "../api/queries";
import type { Endpoint, Node } from "../api/schema";
import { visible } from "../format/text";
import { ago, instant, useNow, useZone } from "../format/time";
import { bytes, count, share } from "../format/units";
import { t, tn } from "../i18n";
import { Join } from "../nodes/Join";
import { ProbeForm } from "../probe/ProbeForm";
import { Reasoned } from "../transfers/Reasoned";
import { Find } from "../ui/Filters";
import { Listing } from "../ui/Listing";
import { More } from "../ui/More";
import { Act, Card, Empty, Failure, Page, Time } from "../ui/basics";
import { whyNot } from "../ui/permissions";
import { useProof } from "../ui/proof";
import { NodeBadge, OnlineBadge } from "../ui/state";
import { useStaying } from "../ui/staying";
import { tell } from "../ui/toasts";
import classes from "../ui/Table.module.css";

const route = getRouteApi("/app/endpoints");

export function Endpoints() {
  const { probe, find, label } = route.useSearch();
  const navigate = route.useNavigate();
  const staying = useStaying();
  const { data: me } = useSuspenseQuery(meQuery);
  const first = useSuspenseInfiniteQuery(endpointsQuery());
  const list = useInfiniteQuery(endpointsQuery({ find, label }));
  const endpoints = list.data?.pages.flatMap((page) => page.items) ?? [];
  const known = useSuspenseInfiniteQuery(nodesQuery);
  const nodes = known.data.pages.flatMap((page) => page.items);
  const narrow = (changed: EndpointFilter) => {
    if (staying()) void navigate({ search: (old) => ({ ...old, ...changed }), replace: true });
  };
  const actions = (
    <>
      <ProbeForm
        asked={probe}
        endpoints={first.data.pages.flatMap((page) => page.items)}
        more={first.hasNextPage}
        blocked={whyNot(me, "plan")}
        open={() => void navigate({ search: (old) => ({ ...old, probe: {} }) })}
        close={() => void navigate({ search: (old) => ({ ...old, probe: undefined }) })}
      />
      <Join blocked={whyNot(me, "nodes")} />
    </>
  );
  return (
    <Page title={t("nav.endpoints")} lead={t("endpoints.lead")} actions={actions}>
      <Card title={t("endpoints.title")}>
        <search className={classes.filters}>
          <Find label={t("filter.find")} find={find ?? ""} placeholder={t("endpoints.find.placeholder")} go={(next) => narrow({ find: next || undefined })} />
          <Find label={t("endpoints.label")} find={label ?? ""} placeholder={t("endpoints.label.placeholder")} go={(next) => narrow({ label: next || undefined })} />
        </search>
        {list.isError && <Failure error={list.error} again={() => void list.refetch()} />}
        {list.isSuccess && endpoints.length === 0 && (find ?? label) === undefined && <Empty title={t("endpoints.empty")}>{t("endpoints.empty.detail")}</Empty>}
        {list.isSuccess && endpoints.length === 0 && (find ?? label) !== undefined && <Empty title={t("endpoints.noMatch")} />}
        {endpoints.length > 0 && <EndpointTable endpoints={endpoints} nodes={nodes} />}
        <More list={list} of={t("endpoints.title")} />
      </Card>
      <Card title={t("nodes.title")}>
        {nodes.length === 0 ? <Empty title={t("nodes.empty")}>{t("nodes.empty.detail")}</Empty> : <NodeTable nodes={nodes} blocked={whyNot(me, "nodes")} keeps={whyNot(me, "people")} />}
        <More list={known} of={t("nodes.title")} />
      </Card>
    </Page>
  );
}

function EndpointTable({ endpoints, nodes }: { endpoints: readonly Endpoint[]; nodes: readonly Node[] }) {
  const nodeName = (id: string) => nodes.find((node) => node.id === id)?.name ?? id;
  return (
    <Listing
      part
      label={t("endpoints.title")}
      heads={[t("endpoints.name"), t("transfers.state"), t("endpoints.access"), t("endpoints.node"), t("endpoints.space"), t("endpoints.labels")]}
    >
      {endpoints.map(({ id, aliases, online, access, node, root, free_bytes: free, total_bytes: total, free_at: at, labels, folder_labels: folders }) => (
        <Table.Tr key={id}>
          <Table.Td>
            <strong>{visible(id)}</strong>
            {aliases.length > 0 && <div className={classes.second}>{t("endpoints.also", { names: aliases.map(visible).join(", ") })}</div>}
          </Table.Td>
          <Table.Td>
            <OnlineBadge online={online} />
          </Table.Td>
          <Table.Td>{t(`endpoints.access.${access}`)}</Table.Td>
          <Table.Td>
            {visible(nodeName(node))}
            <div className={classes.second}>{t("endpoints.root", { root: visible(root) })}</div>
          </Table.Td>
          <Table.Td>
            {free == null || total == null ? (
              t("value.unknown")
            ) : (
              <>
                {t("endpoints.free", { free: bytes(free), share: share(free, total) })}
                {at != null && <Measured at={at} />}
              </>
            )}
          </Table.Td>
          <Table.Td>
            <Group gap={4}>
              {Object.entries(labels).map(([name, value]) => (
                <Badge key={name} color="gray">
                  {visible(name)}={visible(value)}
                </Badge>
              ))}
              {Object.keys(labels).length === 0 && t("value.none")}
            </Group>
            {Object.entries(folders).map(([path, own]) => (
              <div key={path} className={classes.second}>
                {t("endpoints.folderLabels", {
                  path: visible(path),
                  labels: Object.entries(own)
                    .map(([name, value]) => `${visible(name)}=${visible(value)}`)
                    .join(", "),
                })}
              </div>
            ))}
          </Table.Td>
        </Table.Tr>
      ))}
    </Listing>
  );
}

/** How old a figure is that nodes say again and again. */
function Measured({ at }: { at: string }) {
  const zone = useZone();
  const when = ago(at, useNow()) || instant(at, zone);
  return <div className={classes.second}>{t("endpoints.measured", { when })}</div>;
}

type Change = "drain" | "undrain" | "revoke" | "remove";

/** How a node's membership ends: first it is revoked, then it is forgotten. */
function endOf(node: Node): "revoke" | "remove" {
  return node.state === "revoked" ? "remove" : "revoke";
}

/** `blocked`: why nothing here may be changed; `keeps`: why no node may be removed. */
function NodeTable({ nodes, blocked, keeps }: { nodes: readonly Node[]; blocked: string | null; keeps: string | null }) {
  const client = useQueryClient();
  const [ending, setEnding] = useState<Node | null>(null);
  const proof = useProof();
  const change = useMutation({
    mutationFn: ({ node, to }: { node: Node; to: Change }) => {
      const params = { params: { path: { node: node.id } } };
      switch (to) {
        case "drain":
          return answer(api.POST("/api/v1/nodes/{node}/drain", params));
        case "undrain":
          return answer(api.POST("/api/v1/nodes/{node}/undrain", params));
        case "revoke":
          return answer(api.POST("/api/v1/nodes/{node}/revoke", { ...params, body: proof.take() }));
        case "remove":
          return answer(api.POST("/api/v1/nodes/{node}/remove", { ...params, body: proof.take() }));
      }
    },
    onSuccess: async (node, { to }) => {
      proof.used();
      tell(t(`nodes.${to}.done`, { name: node.name }));
      setEnding(null);
      await Promise.all([client.invalidateQueries({ queryKey: nodesQuery.queryKey }), client.invalidateQueries({ queryKey: ["endpoints"] })]);
    },
  });
  return (
    <>
      {change.isError && ending === null && <Failure error={change.error} />}
      <Listing
        part
        label={t("nodes.title")}
        heads={[t("nodes.name"), t("transfers.state"), t("nodes.roots"), t("nodes.running"), t("nodes.seen"), t("nodes.actions")]}
      >
        {nodes.map((node) => (
          <Table.Tr key={node.id}>
            <Table.Td>
              <strong>{visible(node.name)}</strong> <span className={classes.second}>{node.version}</span>
              <span className={classes.key} title={node.key}>
                {node.key}
              </span>
            </Table.Td>
            <Table.Td>
              <NodeBadge state={node.state} />
              {node.detail !== "" && <Text size="xs">{visible(node.detail)}</Text>}
            </Table.Td>
            <Table.Td>{node.roots.map(visible).join(", ") || t("value.none")}</Table.Td>
            <Table.Td>{count(node.running_transfers)}</Table.Td>
            <Table.Td>
              <Time value={node.last_seen} />
            </Table.Td>
            <Table.Td>
              <Group gap={6} wrap="nowrap">
                <Act
                  variant="default"
                  size="compact-xs"
                  blocked={blocked ?? (node.state === "revoked" ? t("nodes.isRevoked") : null)}
                  onClick={() => change.mutate({ node, to: node.state === "draining" ? "undrain" : "drain" })}
                >
                  {node.state === "draining" ? t("nodes.undrain") : t("nodes.drain")}
                </Act>
                <Act
                  color="red"
                  variant="outline"
                  size="compact-xs"
                  blocked={endOf(node) === "remove" ? keeps : blocked}
                  onClick={() => {
                    change.reset();
                    setEnding(node);
                  }}
                >
                  {t(`nodes.${endOf(node)}`)}
                </Act>
              </Group>
            </Table.Td>
          </Table.Tr>
        ))}
      </Listing>
      {ending !== null && (
        <Reasoned
          title={t(`nodes.${endOf(ending)}.one`, { name: visible(ending.name) })}
          detail={
            endOf(ending) === "remove"
              ? t("nodes.remove.detail")
              : t("nodes.revoke.detail", { running: tn("count.transfers", ending.running_transfers) })
          }
          verb={t(`nodes.${endOf(ending)}`)}
          reason="none"
          pending={change.isPending}
          error={change.error}
          proof={proof.field(change.error, () => change.mutate({ node: ending, to: endOf(ending) }))}
          close={() => setEnding(null)}
          go={() => change.mutate({ node: ending, to: endOf(ending) })}
        />
      )}
    </>
  );
}
