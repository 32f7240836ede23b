# The training cycle of the seed, snippet by snippet and in its order. Its slips are put right as they were meant:
# transforms.Compose takes a list, a model is a class, and net, running_loss, PATH, total and correct have values.

#Imports
import torch
import torchvision  #for dataset
import torchvision.transforms as transforms

#Data processing
#image to numpy
transform = transforms.Compose([
    transforms.ToTensor(),
    transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))])

#load dataset, then put in DataLoader
trainset = torchvision.datasets.CIFAR10(root='./data', train=True,
                                        download=True, transform=transform)
trainloader = torch.utils.data.DataLoader(trainset, batch_size=4,
                                          shuffle=True, num_workers=2)

testset = torchvision.datasets.CIFAR10(root='./data', train=False,
                                       download=True, transform=transform)
testloader = torch.utils.data.DataLoader(testset, batch_size=4,
                                         shuffle=False, num_workers=2)

#Build the net
import torch.nn as nn
import torch.nn.functional as F

class our_model(nn.Module):
    def __init__(self):
        super().__init__()
        #define the architecture
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.pool = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)
    def forward(self,x):
        #passing input x through each self.layer, add activation if need be
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)

torch.manual_seed(0)
net = our_model()

#The Optimizers
import torch.optim as optim

criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=0.001, momentum=0.9)

##We can define a fit() function here
def fit(num_epochs):
    losses = []
    #epoch
    for epoch in range(num_epochs):
        running_loss = 0.0
        #mini-batch:
        for inputs, labels in trainloader:
            optimizer.zero_grad()
            outputs = net(inputs)
            loss = criterion(outputs, labels)
            loss.backward()
            optimizer.step()

            # print statistics
            running_loss += loss.item()
        losses.append(running_loss / len(trainloader))
    return losses

losses = fit(3)

#Save and reload
PATH = './cifar_net.pth'
torch.save(net.state_dict(), PATH)
net = our_model()
net.load_state_dict(torch.load(PATH))

#Testing
total = correct = 0
with torch.no_grad():
    for data in testloader:
        images, labels = data
        outputs = net(images)
        _, predicted = torch.max(outputs.data, 1)
        total += labels.size(0)
        correct += (predicted == labels).sum().item()
