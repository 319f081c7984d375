import { expect, it } from "vitest"
import { routeScenarios } from "../src/routes.ts"

it("measures protected routes", async () => {
  const measure = routeScenarios["routes, Express, memory"]
  const rows = await measure?.({ folder: "", redis: "", postgres: "" }, { rounds: 1, milliseconds: 1 })
  expect(rows?.map(({ name }) => name)).toEqual([
    "a route with an API key, Express, memory",
    "a route with an API key and a rate limit, Express, memory",
    "a route with an API key, a rate limit and a meter, Express, memory"
  ])
})
