/** Every place of the console and what its address holds. The address is the state: filters, tabs and open plans survive a reload. */

import { createRootRouteWithContext, createRoute, createRouter, lazyRouteComponent, Link, Outlet, redirect, type ErrorComponentProps } from "@tanstack/react-router";
import type { QueryClient } from "@tanstack/react-query";
import { isStatus } from "./api/problem";
import { allTokensQuery, groupsQuery, passkeysQuery, peopleQuery, sessionsOfQuery, sessionsQuery, tokensQuery } from "./api/people-queries";
import { auditQuery, awaitingQuery, endpointsQuery, haltsQuery, meQuery, myPlansQuery, nodesQuery, planQuery, policiesQuery, transferQuery, transfersQuery, type AuditFilter, type EndpointFilter, type ListFilter, TRANSFER_STATES, type TransferFilter } from "./api/queries";
import { tellProven, UNPROVEN, type Unproven } from "./api/proven";
import { REFUSED, signedIn, type Refused } from "./api/session";
import { queryClient } from "./api/query-client";
import type { Address } from "./plan/asked";
import { fromAddress, toAddress } from "./plan/intent";
import { fromAddress as probeFromAddress, type Address as ProbeAddress } from "./probe/asked";
import { qosQuery, qosVersionsQuery } from "./quality/queries";
import { day, oneOf, text } from "./search";
import { Shell } from "./shell/Shell";
import { Failure, Loading, Page } from "./ui/basics";
import { t } from "./i18n";

const root = createRootRouteWithContext<{ client: QueryClient }>()({
  component: Outlet,
  notFoundComponent: () => (
    <main>
      <Page title={t("notFound.title")} lead={t("notFound.detail")}>
        <Link to="/transfers">{t("notFound.go")}</Link>
      </Page>
    </main>
  ),
});

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: (search): { next?: string | undefined; refused?: Refused | undefined; arrived?: true | undefined } => ({
    next: text(search["next"]),
    refused: oneOf(REFUSED, search["refused"]),
    arrived: search["arrived"] === true ? true : undefined,
  }),
  beforeLoad: ({ search }) => {
    if (search.arrived) signedIn(search.next);
  },
  component: lazyRouteComponent(() => import("./pages/SignIn"), "SignIn"),
});

const proven = createRoute({
  getParentRoute: () => root,
  path: "/proven",
  validateSearch: (search): { id?: string | undefined; refused?: Unproven | undefined } => ({
    id: text(search["id"]),
    refused: oneOf(UNPROVEN, search["refused"]),
  }),
  beforeLoad: ({ search, location }) => {
    if (search.id !== undefined && location.hash !== "") tellProven(search.id, location.hash);
  },
  component: lazyRouteComponent(() => import("./pages/Proven"), "Proven"),
});

const accept = createRoute({
  getParentRoute: () => root,
  path: "/accept",
  component: lazyRouteComponent(() => import("./pages/Accept"), "Accept"),
});

const app = createRoute({
  getParentRoute: () => root,
  id: "app",
  beforeLoad: async ({ context, location }) => {
    try {
      await context.client.query({ ...meQuery, staleTime: "static" });
    } catch (error) {
      if (isStatus(error, 401)) throw redirect({ to: "/sign-in", search: { next: location.href } });
      throw error;
    }
  },
  component: Shell,
});

const home = createRoute({
  getParentRoute: () => app,
  path: "/",
  beforeLoad: () => {
    throw redirect({ to: "/transfers" });
  },
});

export type NewView = "words" | "form" | "browse";
const VIEWS: readonly NewView[] = ["words", "form", "browse"];

const fresh = createRoute({
  getParentRoute: () => app,
  path: "/new",
  validateSearch: (search): Address & { view?: NewView | undefined; plan?: string | undefined; answers?: string | undefined } => {
    const form = fromAddress(search["form"]);
    return {
      words: text(search["words"]),
      view: oneOf(VIEWS, search["view"]),
      plan: text(search["plan"]),
      answers: text(search["answers"]),
      form: form === undefined ? undefined : toAddress(form),
    };
  },
  loader: ({ context }) => context.client.infiniteQuery({ ...endpointsQuery(), staleTime: "static" }),
  component: lazyRouteComponent(() => import("./pages/NewTransfer"), "NewTransfer"),
});

function listFilter(search: Record<string, unknown>): ListFilter {
  return { find: text(search["find"]), since: day(search["since"]), until: day(search["until"]) };
}

const transfers = createRoute({
  getParentRoute: () => app,
  path: "/transfers",
  validateSearch: (search): TransferFilter => ({ state: oneOf(TRANSFER_STATES, search["state"]), ...listFilter(search) }),
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => context.client.infiniteQuery({ ...transfersQuery(deps), staleTime: "static" }),
  component: lazyRouteComponent(() => import("./pages/Transfers"), "Transfers"),
});

export type TransferTab = "summary" | "streams" | "stages" | "files" | "events" | "decision" | "receipt";
const TABS: readonly TransferTab[] = ["summary", "streams", "stages", "files", "events", "decision", "receipt"];

const transfer = createRoute({
  getParentRoute: () => app,
  path: "/transfers/$transfer",
  validateSearch: (search): { tab?: TransferTab | undefined } => ({ tab: oneOf(TABS, search["tab"]) }),
  loader: ({ context, params }) => context.client.query({ ...transferQuery(params.transfer), staleTime: "static" }),
  component: lazyRouteComponent(() => import("./pages/TransferDetail"), "TransferDetail"),
});

const plan = createRoute({
  getParentRoute: () => app,
  path: "/plans/$plan",
  loader: ({ context, params }) => context.client.query({ ...planQuery(params.plan), staleTime: "static" }),
  component: lazyRouteComponent(() => import("./pages/PlanPage"), "PlanPage"),
});

const requests = createRoute({
  getParentRoute: () => app,
  path: "/requests",
  validateSearch: listFilter,
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => context.client.infiniteQuery({ ...myPlansQuery(deps), staleTime: "static" }),
  component: lazyRouteComponent(() => import("./pages/Requests"), "Requests"),
});

const approvals = createRoute({
  getParentRoute: () => app,
  path: "/approvals",
  validateSearch: (search): { plan?: string | undefined } => ({ plan: text(search["plan"]) }),
  loader: ({ context }) => context.client.query({ ...awaitingQuery, staleTime: "static" }),
  component: lazyRouteComponent(() => import("./pages/Approvals"), "Approvals"),
});

const policies = createRoute({
  getParentRoute: () => app,
  path: "/policies",
  validateSearch: (search): { version?: string | undefined; edit?: true | undefined } => ({ version: text(search["version"]), edit: search["edit"] === true ? true : undefined }),
  loader: ({ context }) => context.client.query({ ...policiesQuery, staleTime: "static" }),
  component: lazyRouteComponent(() => import("./pages/Policies"), "Policies"),
});

const quality = createRoute({
  getParentRoute: () => app,
  path: "/qos",
  validateSearch: (search): { version?: string | undefined; edit?: true | undefined } => ({ version: text(search["version"]), edit: search["edit"] === true ? true : undefined }),
  loader: async ({ context: { client } }) => {
    await Promise.all([client.query({ ...qosQuery, staleTime: "static" }), client.query({ ...qosVersionsQuery, staleTime: "static" })]);
  },
  component: lazyRouteComponent(() => import("./pages/Quality"), "Quality"),
});

const endpoints = createRoute({
  getParentRoute: () => app,
  path: "/endpoints",
  validateSearch: (search): EndpointFilter & { probe?: ProbeAddress | undefined } => ({
    find: text(search["find"]),
    label: text(search["label"]),
    probe: probeFromAddress(search["probe"]),
  }),
  loaderDeps: ({ search: { find, label } }) => ({ find, label }),
  loader: async ({ context: { client }, deps }) => {
    await Promise.all([client.infiniteQuery({ ...endpointsQuery(deps), staleTime: "static" }), client.infiniteQuery({ ...nodesQuery, staleTime: "static" })]);
  },
  component: lazyRouteComponent(() => import("./pages/Endpoints"), "Endpoints"),
});

const halts = createRoute({
  getParentRoute: () => app,
  path: "/halts",
  loader: ({ context }) => context.client.query({ ...haltsQuery, staleTime: "static" }),
  component: lazyRouteComponent(() => import("./pages/Halts"), "Halts"),
});

const audit = createRoute({
  getParentRoute: () => app,
  path: "/audit",
  validateSearch: (search): AuditFilter => ({ kind: text(search["kind"]), person: text(search["person"]) }),
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => context.client.infiniteQuery({ ...auditQuery(deps), staleTime: "static" }),
  component: lazyRouteComponent(() => import("./pages/Audit"), "Audit"),
});

const people = createRoute({
  getParentRoute: () => app,
  path: "/people",
  loader: async ({ context: { client } }) => {
    await Promise.all([client.query({ ...peopleQuery, staleTime: "static" }), client.query({ ...groupsQuery, staleTime: "static" })]);
  },
  component: lazyRouteComponent(() => import("./pages/People"), "People"),
});

const person = createRoute({
  getParentRoute: () => app,
  path: "/people/$person",
  loader: async ({ context: { client }, params }) => {
    const reads = [client.query({ ...peopleQuery, staleTime: "static" }), client.query({ ...allTokensQuery, staleTime: "static" })];
    await Promise.all([...reads, client.query({ ...sessionsOfQuery(params.person), staleTime: "static" }), client.query({ ...passkeysQuery(params.person), staleTime: "static" })]);
  },
  component: lazyRouteComponent(() => import("./pages/Person"), "Person"),
});

const account = createRoute({
  getParentRoute: () => app,
  path: "/account",
  loader: async ({ context: { client } }) => {
    await Promise.all([client.query({ ...sessionsQuery, staleTime: "static" }), client.query({ ...passkeysQuery(), staleTime: "static" })]);
  },
  component: lazyRouteComponent(() => import("./pages/Account"), "Account"),
});

const tokens = createRoute({
  getParentRoute: () => app,
  path: "/tokens",
  loader: ({ context }) => context.client.query({ ...tokensQuery, staleTime: "static" }),
  component: lazyRouteComponent(() => import("./pages/Tokens"), "Tokens"),
});

const inside = [home, fresh, transfers, transfer, plan, requests, approvals, policies, quality, endpoints, halts, audit, people, person, account, tokens];

export const router = createRouter({
  routeTree: root.addChildren([signIn, accept, proven, app.addChildren(inside)]),
  context: { client: queryClient },
  defaultPreload: "intent",
  defaultPreloadStaleTime: 0,
  defaultPendingComponent: Loading,
  defaultErrorComponent: Broken,
  scrollRestoration: true,
});

/** "Try again" loads the page again: its loaders run, and the error goes when they succeed. */
function Broken({ error }: ErrorComponentProps) {
  return (
    <Page title={t("error.page")}>
      <Failure error={error} again={() => void router.invalidate()} />
    </Page>
  );
}

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
