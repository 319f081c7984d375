import { defineError } from "@tollgate/store/internal"
import { Schema } from "effect"

/** The customer of a request to a protected route lacks features that the route requires. */
export class MissingFeature extends defineError<MissingFeature>()(
  "MissingFeature",
  {
    code: "missing-feature",
    status: 403,
    title: "Missing feature",
    meaning: "No subscription of the customer that allows usage has the features that the protected route requires.",
    remedy: "Move the customer to a plan with the features, or give them to its subscription with `overrides`.",
    detail: ({ features }) =>
      `The plan lacks ${features.length === 1 ? "the feature" : "the features"} ${features.join(", ")}`
  },
  {
    features: Schema.Array(Schema.String).annotate({ description: "The features that the customer lacks." })
  }
) {}
