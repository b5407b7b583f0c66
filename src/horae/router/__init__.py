"""Router in front of several deployments: forwards each request to the deployment of its owner.

deployment_map  settings: deployments, and owners by deployment      application  the ASGI application
routes          finds the deployment of a credential                 forwarding   one HTTP exchange with a deployment
upstream        connections to one deployment                        websockets   one WebSocket with a deployment
heads           request and response headers, cookies                refusals     catalogue of refusals
"""
