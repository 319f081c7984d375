/**
 * Declares the list of projects. `Projects.ts` implements it.
 */

import {
  AccountName,
  Area,
  Authenticated,
  type CheckMethods,
  type Expect,
  ListedItem,
  type ListedItemJson,
  Owner,
  Page,
  type PageOptions,
  type PagePromise,
  page,
  parameters
} from "@tollgate/core/module"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { ProjectName } from "../model/names.ts"

export class ProjectsApi extends HttpApiGroup.make("projects")
  .add(
    HttpApiEndpoint.get("list", "/accounts/:accountName/projects", {
      params: { accountName: AccountName },
      query: parameters(page),
      success: Page(ListedItem(ProjectName, "Project"))
    })
      .annotate(OpenApi.Summary, "List projects")
      .annotate(
        OpenApi.Description,
        "Returns the projects of the account, oldest first. A project exists while it has a deployment, or " +
          "an upload in progress."
      )
      .annotate(Owner, "account")
  )
  .prefix("/v1")
  .middleware(Authenticated)
  .annotate(Area, "deployments")
  .annotateMerge(OpenApi.annotations({ title: "Projects", description: "Containers of deployments." })) {}

/** The projects of an account. */
export interface ProjectsMethods {
  /**
   * Returns a page of the projects, oldest first. Iterate over it to get all pages. A project exists while it has a
   * deployment, or an upload in progress.
   */
  list(options?: PageOptions): PagePromise<ListedItemJson>
}

/** Exported so that the compiler evaluates it. */
export type MethodChecks = Expect<CheckMethods<typeof ProjectsApi, ProjectsMethods>>
