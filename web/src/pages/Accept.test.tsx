import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from "@tanstack/react-router";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { Accept } from "./Accept";

async function opened(status: number, body: object) {
  const answer = new Response(JSON.stringify(body), { status, headers: { "content-type": status === 200 ? "application/json" : "application/problem+json" } });
  vi.stubGlobal("fetch", vi.fn(() => Promise.resolve(answer)));
  const history = createMemoryHistory({ initialEntries: ["/accept#pn_1.token"] });
  const router = createRouter({ routeTree: createRootRoute({ component: Accept }), history });
  await router.load();
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={new QueryClient()}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>,
  );
}

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

it("a link that was used already says so when it is opened, and shows no form", async () => {
  const detail = "This link was used already, is too old, or was never good.";
  await opened(403, { type: "about:blank", title: "", status: 403, code: "invitation_refused", detail, fields: [] });
  expect((await screen.findByRole("alert")).textContent).toContain(detail);
  expect(screen.getByRole("link", { name: "Sign in" }).getAttribute("href")).toBe("/sign-in");
  expect(screen.queryByLabelText("Choose a password")).toBeNull();
});

it("a good link asks for a password", async () => {
  await opened(200, { name: "carol" });
  expect(await screen.findByLabelText("Choose a password")).toBeTruthy();
  expect(screen.queryByRole("alert")).toBeNull();
});
