import { createMemoryHistory, createRootRoute, createRoute, createRouter, Link, Outlet, RouterProvider } from "@tanstack/react-router";
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { useStaying } from "./staying";

it("a page that is still drawn while another one loads knows that the person has left it", async () => {
  let staying: () => boolean = () => false;
  const List = () => {
    staying = useStaying();
    return <Link to="/new">Open</Link>;
  };
  const root = createRootRoute({ component: Outlet });
  const list = createRoute({ getParentRoute: () => root, path: "/requests", component: List });
  const plan = createRoute({ getParentRoute: () => root, path: "/new", loader: () => new Promise<never>(() => undefined) });
  const router = createRouter({ routeTree: root.addChildren([list, plan]), history: createMemoryHistory({ initialEntries: ["/requests/?find=x"] }) });
  await router.load();
  render(<RouterProvider router={router} />);
  expect(staying()).toBe(true);
  await router.navigate({ to: "/requests", search: { find: "y" } });
  expect(staying()).toBe(true);
  await userEvent.click(screen.getByRole("link"));
  expect(screen.getByRole("link")).toBeTruthy();
  expect(staying()).toBe(false);
});
