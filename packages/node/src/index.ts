export {
  type AuthorizeRequestResult,
  makeAuthorizeRequest,
  type RequestConsumer,
  type RequestLike,
  type RequireApiKeyOptions
} from "./authorizeRequest.ts"
export { type HandlerSource, type NodeHandler, type NodeHandlerOptions, toNodeHandler } from "./toNodeHandler.ts"
